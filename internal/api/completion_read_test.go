package api_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
)

// events ranges over the JSON of a stream of events, with their names, and reports whether it ends with a
// terminator.
func events(t *testing.T, frames [][]byte, each func(name string, data []byte)) (terminated bool) {
	t.Helper()
	rest := bytes.Join(frames, nil)
	for len(rest) > 0 {
		n := api.Events.FrameLen(rest, 0)
		if n <= 0 {
			t.Fatalf("no event begins %q", rest)
		}
		name, data := api.Payload(api.Events, rest[:n])
		rest = rest[n:]
		switch {
		case terminated:
			t.Fatalf("%q follows the end", data)
		case string(data) == "[DONE]":
			terminated = true
		case len(data) > 0:
			each(string(name), data)
		}
	}
	return terminated
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
}

// readAnthropic reads a stream as the SDKs do: blocks begin in their order and have one end.
func readAnthropic(t *testing.T, frames [][]byte) (r reading) {
	t.Helper()
	open, next := -1, 0
	events(t, frames, func(name string, data []byte) {
		var e struct {
			Type    string
			Index   int
			Message struct{ ID string }
			Block   struct{ Type, Name, Text string } `json:"content_block"`
			Delta   struct {
				Type, Text string
				Partial    string `json:"partial_json"`
				Stop       string `json:"stop_reason"`
			}
			Usage struct {
				Out int `json:"output_tokens"`
			}
		}
		decode(t, data, &e)
		switch {
		case e.Type != name:
			t.Fatalf("event %q has the type %q", name, e.Type)
		case r.done, e.Type == "message_start" && r.id != "", e.Type != "message_start" && r.id == "":
			t.Fatalf("%s is out of place", data)
		}
		switch e.Type {
		case "message_start":
			r.id = e.Message.ID
		case "content_block_start":
			if open >= 0 || e.Index != next {
				t.Fatalf("%s: block %d is open, want block %d to begin", data, open, next)
			}
			open, next = e.Index, next+1
			if e.Block.Type == "tool_use" {
				r.calls = append(r.calls, e.Block.Name)
			}
		case "content_block_delta":
			if e.Index != open {
				t.Fatalf("%s: block %d is open", data, open)
			}
			r.text += e.Delta.Text
			if e.Delta.Type == "input_json_delta" {
				r.calls[len(r.calls)-1] += e.Delta.Partial
			}
		case "content_block_stop":
			if e.Index != open {
				t.Fatalf("%s: block %d is open", data, open)
			}
			open = -1
		case "message_delta":
			r.out = e.Usage.Out
			if open >= 0 || e.Delta.Stop == "" {
				t.Fatalf("%s: block %d is open", data, open)
			}
		case "message_stop":
			r.done = true
		}
	})
	return r
}

// readChat reads a stream of one choice: one id, one role, one end.
func readChat(t *testing.T, frames [][]byte) (r reading) {
	t.Helper()
	finished, roles := false, 0
	done := events(t, frames, func(_ string, data []byte) {
		var e struct {
			ID      string
			Choices []struct {
				Delta struct {
					Role, Content string
					ToolCalls     []struct {
						Index    int
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage *struct {
				Out   int `json:"completion_tokens"`
				In    int `json:"prompt_tokens"`
				Total int `json:"total_tokens"`
			}
		}
		decode(t, data, &e)
		if r.id != "" && e.ID != r.id {
			t.Fatalf("%s: got the id %q, want %q", data, e.ID, r.id)
		}
		r.id = e.ID
		if e.Usage != nil {
			if r.out = e.Usage.Out; e.Usage.Total != e.Usage.In+e.Usage.Out {
				t.Fatalf("%s: the total is no sum", data)
			}
		}
		for _, c := range e.Choices {
			if c.Delta.Role != "" {
				roles++
			}
			if finished {
				t.Fatalf("%s follows the end", data)
			}
			finished = c.Finish != ""
			r.text += c.Delta.Content
			for _, call := range c.Delta.ToolCalls {
				if call.Index == len(r.calls) {
					r.calls = append(r.calls, "")
				}
				r.calls[call.Index] += call.Function.Name + call.Function.Arguments
			}
		}
	})
	if roles != 1 {
		t.Fatalf("%d chunks have a role, want 1", roles)
	}
	r.done = done && finished
	return r
}

// readResponses reads a stream as the SDKs do: numbers without a gap, items in their order, and at the end
// the same once more.
func readResponses(t *testing.T, frames [][]byte) (r reading) {
	t.Helper()
	number, items, ended := -1, 0, 0
	text := map[string]string{}
	events(t, frames, func(name string, data []byte) {
		var e struct {
			Type, Delta, Text string
			Number            int    `json:"sequence_number"`
			ID                string `json:"item_id"`
			Index             int    `json:"output_index"`
			Item              struct {
				ID, Type, Name, Arguments string
				Content                   []struct{ Text string }
			}
			Part     struct{ Text string }
			Response struct {
				ID     string
				Output []struct {
					ID, Type, Name, Arguments string
					Content                   []struct{ Text string }
				}
				Usage struct {
					Out int `json:"output_tokens"`
				}
			}
		}
		decode(t, data, &e)
		if number++; e.Number != number || e.Type != name || r.done {
			t.Fatalf("%s: want number %d and type %q", data, number, name)
		}
		switch e.Type {
		case "response.created":
			r.id = e.Response.ID
		case "response.output_item.added":
			if e.Index != items {
				t.Fatalf("%s: want index %d", data, items)
			}
			items++
		case "response.output_text.delta":
			text[e.ID] += e.Delta
			r.text += e.Delta
		case "response.output_text.done":
			if e.Text != text[e.ID] {
				t.Fatalf("%s: want the text %q", data, text[e.ID])
			}
		case "response.content_part.done":
			if e.Part.Text != text[e.ID] {
				t.Fatalf("%s: want the text %q", data, text[e.ID])
			}
		case "response.output_item.done":
			if e.Index != ended || e.Item.Type == "message" && e.Item.Content[0].Text != text[e.Item.ID] {
				t.Fatalf("%s: want index %d and the text %q", data, ended, text[e.Item.ID])
			}
			ended++
		case "response.completed":
			r.done, r.out = e.Response.ID == r.id, e.Response.Usage.Out
			all := ""
			for _, item := range e.Response.Output {
				if item.Type == "function_call" {
					r.calls = append(r.calls, item.Name+item.Arguments)
				}
				for _, c := range item.Content {
					all += c.Text
				}
			}
			if len(e.Response.Output) != items || all != r.text {
				t.Fatalf("%s: want %d items with the text %q", data, items, r.text)
			}
		}
	})
	return r
}

// readGemini reads a stream in either form.
func readGemini(t *testing.T, frames [][]byte) (r reading) {
	t.Helper()
	stream := bytes.TrimSpace(bytes.Join(frames, nil))
	each := func(data []byte) {
		var e struct {
			ResponseID string
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text    string
						Thought bool
						Call    *struct {
							Name string
							Args json.RawMessage
						} `json:"functionCall"`
					}
				}
				FinishReason string
			}
			UsageMetadata struct{ CandidatesTokenCount int }
		}
		decode(t, data, &e)
		if r.done || r.id != "" && e.ResponseID != r.id {
			t.Fatalf("%s: want the id %q, and nothing behind the end", data, r.id)
		}
		r.id, r.out = e.ResponseID, e.UsageMetadata.CandidatesTokenCount
		for _, p := range e.Candidates[0].Content.Parts {
			if !p.Thought {
				r.text += p.Text
			}
			if p.Call != nil {
				r.calls = append(r.calls, p.Call.Name+string(p.Call.Args))
			}
		}
		r.done = e.Candidates[0].FinishReason != ""
	}
	if stream[0] != '[' {
		events(t, frames, func(_ string, data []byte) { each(data) })
		return r
	}
	var all []json.RawMessage
	if !bytes.HasSuffix(stream, []byte("]")) {
		stream = append(stream, ']')
	}
	decode(t, stream, &all)
	for _, data := range all {
		each(data)
	}
	return r
}

func readOllama(t *testing.T, frames [][]byte) (r reading) {
	t.Helper()
	for line := range bytes.Lines(bytes.Join(frames, nil)) {
		var e struct {
			Message struct {
				Content string
				Calls   []struct {
					Function struct {
						Name      string
						Arguments json.RawMessage
					}
				} `json:"tool_calls"`
			}
			Done bool
			Out  int `json:"eval_count"`
		}
		decode(t, line, &e)
		if r.done {
			t.Fatalf("%s follows the end", line)
		}
		r.text += e.Message.Content
		for _, c := range e.Message.Calls {
			r.calls = append(r.calls, c.Function.Name+string(c.Function.Arguments))
		}
		r.done, r.out = e.Done, e.Out
	}
	return r
}
