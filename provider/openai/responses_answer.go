package openai

import (
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// responsesAnswer reads an answer of the Responses API.
type responsesAnswer struct {
	call    *provider.Call
	calls   callCollector
	items   map[int64]progress // by their index in the answer
	refused bool
}

// progress is how much of an item has been yielded.
type progress struct{ begun, done bool }

// event handles an event of a stream.
func (a *responsesAnswer) event(e responses.ResponseStreamEventUnion) (bool, error) {
	switch e.Type {
	case "response.output_text.delta":
		return a.begun(e.OutputIndex).Yield(llm.Text{Text: e.Delta}), nil
	case "response.refusal.delta":
		a.refused = true
		return a.begun(e.OutputIndex).Yield(llm.Text{Text: e.Delta}), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return a.begun(e.OutputIndex).Yield(llm.Reasoning{Text: e.Delta}), nil
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			return a.call.Yield(llm.Reasoning{Text: "\n\n"}), nil
		}
	case "response.output_item.done":
		return a.item(e.OutputIndex, e.Item), nil
	case "response.completed":
		return false, a.unary(e.Response)
	case "response.failed", "error":
		return false, failedEvent(e)
	case "response.incomplete":
		if isFailed(e.Response) {
			return false, failedEvent(e)
		}
		return false, a.unary(e.Response)
	}
	return true, nil
}

// begun notes that some of an item is yielded.
func (a *responsesAnswer) begun(index int64) *provider.Call {
	a.setProgress(index, progress{begun: true})
	return a.call
}

func (a *responsesAnswer) setProgress(index int64, p progress) {
	if a.items == nil {
		a.items = map[int64]progress{}
	}
	a.items[index] = p
}

// isFailed reports whether a response contains an error.
func isFailed(r responses.Response) bool { return r.Error.Code != "" || r.Error.Message != "" }

// failedEvent returns the error in an event that the SDK does not treat as one.
func failedEvent(e responses.ResponseStreamEventUnion) error {
	return streamError(ssestream.Event{Type: e.Type, Data: []byte(e.RawJSON())})
}

// item yields a whole item of the answer, except for the pieces that have been yielded.
func (a *responsesAnswer) item(index int64, item responses.ResponseOutputItemUnion) bool {
	streamed := a.items[index].begun
	a.setProgress(index, progress{begun: true, done: true})
	switch item.Type {
	case "reasoning":
		text := ""
		if !streamed {
			text = reasoningText(item)
		}
		return a.call.Yield(llm.Reasoning{Text: text, Signature: item.EncryptedContent})
	case "function_call":
		id := item.CallID
		if id == "" {
			id = item.ID
		}
		return a.calls.yieldOne(a.call, id, item.Name, item.Arguments.OfString)
	case "message":
		for _, part := range item.Content {
			a.refused = a.refused || part.Refusal != ""
			if !streamed && !a.call.Yield(llm.Text{Text: part.Text + part.Refusal}) {
				return false
			}
		}
	}
	return true
}

// reasoningText returns the text of a reasoning item: its summary or, from open models, all of it.
func reasoningText(item responses.ResponseOutputItemUnion) string {
	var all []string
	for _, s := range item.Summary {
		all = append(all, s.Text)
	}
	for _, c := range item.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n\n")
}

// end is called if the last event is missing.
func (a *responsesAnswer) end(bool) error { return nil }

// unary handles the whole response at its end, and yields what has not been yielded: all of it, if it was
// not streamed. A failed response is not an answer.
func (a *responsesAnswer) unary(r responses.Response) error {
	if isFailed(r) {
		return nil
	}
	for i, item := range r.Output {
		if !a.items[int64(i)].done && !a.item(int64(i), item) {
			return nil
		}
	}
	if r.JSON.Usage.Valid() {
		a.call.Usage(llm.Usage{
			Input:      int(r.Usage.InputTokens),
			Output:     int(r.Usage.OutputTokens),
			CacheRead:  int(r.Usage.InputTokensDetails.CachedTokens),
			CacheWrite: int(r.Usage.InputTokensDetails.CacheWriteTokens),
			Reasoning:  int(r.Usage.OutputTokensDetails.ReasoningTokens),
		})
	}
	if reason, ended := a.endReason(r); ended {
		a.call.End(reason, r.Model)
	}
	return nil
}

// endReason returns the reason of the end; false: the response has failed or is incomplete.
func (a *responsesAnswer) endReason(r responses.Response) (llm.Reason, bool) {
	switch {
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "max_output_tokens":
		return llm.Length, true
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "content_filter", r.Status == "completed" && a.refused:
		return llm.Refusal, true
	case r.Status == "completed", r.Status == "" && r.JSON.Output.Valid():
		return llm.Stop, true
	case r.Status == "incomplete":
		return llm.Other, true
	}
	return "", false
}
