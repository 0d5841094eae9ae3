package gemini

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// responseReader reads an answer as it comes. The API has no terminator: a finish reason is the proper end.
type responseReader struct {
	call  *provider.Call
	unary bool
}

// frame handles the next event; false: the answer is over, or the caller has left.
func (a *responseReader) frame(frame []byte) (more bool, err error) {
	if dialect.Gemini().FrameKind(dialect.Events, frame) == dialect.Failure {
		return false, a.call.ErrorEvent(frame, nil)
	}
	_, data := client.Event(frame)
	if len(data) == 0 {
		return true, nil
	}
	var next chunk
	if err := client.Unmarshal(data, &next); err != nil {
		return false, err
	}
	return a.chunk(&next)
}

// chunk handles the next chunk; false: the caller has left.
func (a *responseReader) chunk(c *chunk) (more bool, err error) {
	if c.Feedback.Reason != "" && len(c.Candidates) == 0 {
		return false, blocked(a.call, c.Feedback)
	}
	if c.Usage != nil {
		a.call.Usage(c.Usage.usage())
	}
	if len(c.Candidates) == 0 {
		return true, nil
	}
	first := &c.Candidates[0] // the only one: no more are requested
	for i := range first.Content.Parts {
		if !a.part(&first.Content.Parts[i]) {
			return false, nil
		}
	}
	switch first.FinishReason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return false, malformedCall(a.call, first.FinishReason)
	case "", "FINISH_REASON_UNSPECIFIED":
		if !a.unary {
			return true, nil
		}
	}
	a.call.End(reason(first.FinishReason), c.Model)
	return true, nil
}

// part yields a part. The signature of a text is yielded after it, as reasoning.
func (a *responseReader) part(p *part) bool {
	switch {
	case p.Call != nil:
		return a.call.Yield(llm.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Call.Args, Signature: p.Signature})
	case p.Thought:
		return a.call.Yield(llm.Reasoning{Text: p.Text, Signature: p.Signature})
	}
	return a.call.Yield(llm.Text{Text: p.Text}) && a.call.Yield(llm.Reasoning{Signature: p.Signature})
}

// blocked returns the fault of a blocked prompt. It is final.
func blocked(c *provider.Call, f feedback) error {
	return newFault(c, fault.Refused, f.Reason, cmp.Or(f.Message, "the prompt was blocked: "+f.Reason), "")
}

// malformedCall returns the fault of a malformed tool call.
func malformedCall(c *provider.Call, finish string) error {
	return newFault(c, fault.Unknown, "", "the model made a malformed tool call", finish)
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
func reason(finish string) llm.Reason {
	switch finish {
	case "STOP":
		return llm.Stop
	case "MAX_TOKENS", "CONTINUATION":
		return llm.Length
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT":
		return llm.Refusal
	}
	return llm.Other
}

// usage converts the counts.
func (t tokens) usage() llm.Usage {
	return llm.Usage{
		Input: t.Prompt + t.ToolPrompt, Output: t.Candidates + t.Thoughts,
		CacheRead: t.Cached, Reasoning: t.Thoughts,
	}
}
