package gemini

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// responseReader reads an answer as it comes. The API has no terminator: a finish reason is the proper end.
type responseReader struct {
	call  *provider.Call
	unary bool
}

// chunk handles the next chunk; false: the caller has left.
func (a *responseReader) chunk(chunk *genai.GenerateContentResponse) (more bool, err error) {
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" && len(chunk.Candidates) == 0 {
		return false, blocked(a.call, f)
	}
	if chunk.UsageMetadata != nil {
		a.call.Usage(usage(chunk.UsageMetadata))
	}
	if len(chunk.Candidates) == 0 || chunk.Candidates[0] == nil {
		return true, nil
	}
	first := chunk.Candidates[0] // the only one: no more are requested
	if first.Content != nil {
		for _, p := range first.Content.Parts {
			if p != nil && !a.part(p) {
				return false, nil
			}
		}
	}
	switch first.FinishReason {
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall:
		return false, malformedCall(a.call, first)
	case "", genai.FinishReasonUnspecified:
		if !a.unary {
			return true, nil
		}
	}
	a.call.End(reason(first.FinishReason), chunk.ModelVersion)
	return true, nil
}

// part yields a part. The signature of a text is yielded after it, as reasoning.
func (a *responseReader) part(p *genai.Part) bool {
	signature := ""
	if len(p.ThoughtSignature) > 0 {
		signature = base64.StdEncoding.EncodeToString(p.ThoughtSignature)
	}
	switch {
	case p.FunctionCall != nil:
		f := p.FunctionCall
		arguments, _ := json.Marshal(f.Args) // it was decoded from JSON
		return a.call.Yield(llm.ToolCall{ID: f.ID, Name: f.Name, Arguments: arguments, Signature: signature})
	case p.Thought:
		return a.call.Yield(llm.Reasoning{Text: p.Text, Signature: signature})
	}
	return a.call.Yield(llm.Text{Text: p.Text}) && a.call.Yield(llm.Reasoning{Signature: signature})
}

// blocked returns the fault of a blocked prompt. It is final.
func blocked(c *provider.Call, f *genai.GenerateContentResponsePromptFeedback) error {
	return newFault(c, fault.Refused, string(f.BlockReason), cmp.Or(f.BlockReasonMessage, "the prompt was blocked: "+string(f.BlockReason)), "")
}

// malformedCall returns the fault of a malformed tool call.
func malformedCall(c *provider.Call, first *genai.Candidate) error {
	return newFault(c, fault.Unknown, "", "the model made a malformed tool call", string(first.FinishReason))
}

// newFault returns a fault from the API's own codes, classified by package classify; one that it does not
// know gets the given kind.
func newFault(c *provider.Call, kind fault.Kind, status, message, finish string) error {
	type cause struct {
		Message string `json:"message"`
		Status  string `json:"status,omitzero"`
	}
	type candidate struct {
		Finish string `json:"finishReason,omitzero"`
	}
	event, _ := json.Marshal(struct {
		Error      cause       `json:"error"`
		Candidates []candidate `json:"candidates"`
	}{cause{message, status}, []candidate{{finish}}})
	err := c.ErrorEvent(event, nil)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Unknown {
		f.Kind = kind
	}
	return err
}

// reason returns why an answer ended.
func reason(r genai.FinishReason) llm.Reason {
	switch r {
	case genai.FinishReasonStop:
		return llm.Stop
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		return llm.Length
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent,
		genai.FinishReasonSPII, genai.FinishReasonLanguage, genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent:
		return llm.Refusal
	}
	return llm.Other
}

// usage converts the usage: the API counts reasoning beside the output, and the input of its own tools
// beside the prompt.
func usage(u *genai.GenerateContentResponseUsageMetadata) llm.Usage {
	return llm.Usage{
		Input: int(u.PromptTokenCount + u.ToolUsePromptTokenCount), Output: int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
		CacheRead: int(u.CachedContentTokenCount), Reasoning: int(u.ThoughtsTokenCount),
	}
}
