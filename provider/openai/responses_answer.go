package openai

import (
	"strings"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// responsesAnswer reads an answer of the Responses API.
type responsesAnswer struct {
	call    *provider.Call
	calls   callCollector
	items   map[int]progress // by their index in the answer
	refused bool
}

// progress is how much of an item has been yielded.
type progress struct{ begun, done bool }

// event handles an event of a stream that is not an error.
func (a *responsesAnswer) event(data []byte) (bool, error) {
	var e responsesEvent
	if err := client.Unmarshal(data, &e); err != nil {
		return false, err
	}
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
		return a.item(e.OutputIndex, &e.Item), nil
	case "response.completed", "response.incomplete":
		a.whole(&e.Response)
		return false, nil
	}
	return true, nil
}

// begun notes that some of an item is yielded.
func (a *responsesAnswer) begun(index int) *provider.Call {
	a.setProgress(index, progress{begun: true})
	return a.call
}

func (a *responsesAnswer) setProgress(index int, p progress) {
	if a.items == nil {
		a.items = map[int]progress{}
	}
	a.items[index] = p
}

// item yields a whole item of the answer, except for the pieces that have been yielded.
func (a *responsesAnswer) item(index int, item *outputItem) bool {
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
		return a.calls.yieldOne(a.call, id, item.Name, string(item.Arguments))
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
func reasoningText(item *outputItem) string {
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

// unary handles an unstreamed answer.
func (a *responsesAnswer) unary(body []byte) error {
	var r response
	if err := client.Unmarshal(body, &r); err != nil {
		return err
	}
	a.whole(&r)
	return nil
}

// whole handles the whole response at its end, and yields what has not been yielded: all of it, if it was
// not streamed. A failed response is not an answer.
func (a *responsesAnswer) whole(r *response) {
	if r.Error.Code != "" || r.Error.Message != "" {
		return
	}
	for i := range r.Output {
		if !a.items[i].done && !a.item(i, &r.Output[i]) {
			return
		}
	}
	if u := r.Usage; u != nil {
		a.call.Usage(llm.Usage{
			Input:      u.Input,
			Output:     u.Output,
			CacheRead:  u.InputDetails.Cached,
			CacheWrite: u.InputDetails.CacheWrite,
			Reasoning:  u.OutputDetails.Reasoning,
		})
	}
	if reason, ended := a.endReason(r); ended {
		a.call.End(reason, r.Model)
	}
}

// endReason returns the reason of the end; false: the response has failed or is incomplete.
func (a *responsesAnswer) endReason(r *response) (llm.Reason, bool) {
	switch {
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "max_output_tokens":
		return llm.Length, true
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "content_filter", r.Status == "completed" && a.refused:
		return llm.Refusal, true
	case r.Status == "completed", r.Status == "" && r.Output != nil:
		return llm.Stop, true
	case r.Status == "incomplete":
		return llm.Other, true
	}
	return "", false
}
