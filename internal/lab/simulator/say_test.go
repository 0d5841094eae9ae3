package simulator_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// abridged returns a stream without what is always the same: of each event what
// this vendor's form of an answer is about.
func abridged(t *testing.T, body string) string {
	t.Helper()
	var all []string
	for _, frame := range frames(body) {
		_, data, _ := strings.Cut(frame, "{")
		var f map[string]any
		if json.Unmarshal([]byte("{"+data), &f) != nil {
			continue // [DONE]
		}
		all = append(all, gist(f))
	}
	return strings.Join(all, "\n")
}

// gist returns the members of an event that differ from answer to answer.
func gist(f map[string]any) string {
	kept := map[string]any{}
	for _, name := range []string{
		"type", "index", "content_block", "delta", "output_index", "item", "part", "arguments", "text", "content", "message",
		"done", "done_reason", "event_type", "step",
	} {
		if v, ok := f[name]; ok {
			kept[name] = v
		}
	}
	if f["type"] == "message_start" || f["type"] == "ping" || f["response"] != nil {
		return f["type"].(string)
	}
	for _, list := range []string{"choices", "candidates"} {
		if c, ok := f[list].([]any); ok && len(c) > 0 {
			kept = c[0].(map[string]any)
			delete(kept, "logprobs")
			delete(kept, "index")
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestSay_ReasoningAndCallsOnTheWire(t *testing.T) {
	for _, a := range asking {
		bubble(t, simulator.Script{Replies: parse(t, everythingSaid)}, func(t *testing.T, p *simulator.Provider) {
			got := ask(t, p, a.path, a.body)
			if got := abridged(t, got.body); got != wire[a.path] {
				t.Errorf("%s:\n%s\nwant:\n%s", a.path, got, wire[a.path])
			}
		})
	}
}

func TestSay_WholeAnswerEqualsStream(t *testing.T) {
	for path, want := range map[string][]string{
		messages: {
			`"content":[{"type":"thinking","thinking":"Let me see.","signature":"c2lnbmF0dXJlIG9mIDAwMDAwMQ=="},{"type":"text","text":"Two files."},` +
				`{"type":"tool_use","id":"toolu_000001_0","name":"read","input":{"path":"a.txt"}},` +
				`{"type":"tool_use","id":"toolu_000001_1","name":"now","input":{}}],"stop_reason":"tool_use"`,
			`"output_tokens":8,"output_tokens_details":{"thinking_tokens":3}`,
		},
		completions: {
			`"content":"Two files.","reasoning_content":"Let me see.","tool_calls":[{"id":"call_000001_0","type":"function",` +
				`"function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}},{"id":"call_000001_1","type":"function",` +
				`"function":{"name":"now","arguments":""}}]`,
			`"finish_reason":"tool_calls"`, `"completion_tokens":8`, `"reasoning_tokens":3`,
		},
		responses: {
			`"output":[{"id":"rs_000001","type":"reasoning","encrypted_content":"c2lnbmF0dXJlIG9mIDAwMDAwMQ==","summary":[{"type":"summary_text","text":"Let me see."}]},` +
				`{"id":"msg_000001","type":"message","status":"completed"`,
			`{"id":"fc_000001_0","type":"function_call","status":"completed","arguments":"{\"path\":\"a.txt\"}","call_id":"call_000001_0","name":"read"}`,
			`"output_tokens":8,"output_tokens_details":{"reasoning_tokens":3}`,
		},
		geminiWhole: {
			`"parts":[{"text":"Let me see.","thought":true},{"text":"Two files."},{"functionCall":{"name":"read","args":{"path":"a.txt"}},` +
				`"thoughtSignature":"c2lnbmF0dXJlIG9mIDAwMDAwMQ=="},{"functionCall":{"name":"now","args":{}}}]`,
			`"finishReason":"STOP"`, `"candidatesTokenCount":5`, `"thoughtsTokenCount":3`,
		},
		interaction: {
			`"status":"requires_action"`,
			`"steps":[{"type":"thought","signature":"c2lnbmF0dXJlIG9mIDAwMDAwMQ==","summary":[{"type":"text","text":"Let me see."}]},` +
				`{"type":"model_output","content":[{"type":"text","text":"Two files."}]},` +
				`{"type":"function_call","id":"call_000001_0","name":"read","arguments":{"path":"a.txt"}},` +
				`{"type":"function_call","id":"call_000001_1","name":"now","arguments":{}}]`,
			`"total_output_tokens":5,"total_thought_tokens":3`,
		},
		ollamaChat: {
			`"message":{"role":"assistant","content":"Two files.","thinking":"Let me see.","tool_calls":[{"id":"call_000001_0",` +
				`"function":{"index":0,"name":"read","arguments":{"path":"a.txt"}}},{"id":"call_000001_1","function":{"index":1,"name":"now","arguments":{}}}]}`,
			`"done_reason":"stop"`, `"eval_count":8`,
		},
		studio: {
			`"output":[{"type":"reasoning","content":"Let me see."},{"type":"message","content":"Two files."}]`,
			`"total_output_tokens":8,"reasoning_output_tokens":3`,
		},
	} {
		for _, a := range asking {
			if a.path == path || path == geminiWhole && a.path == geminiSSE {
				whole := strings.Replace(a.body, `"stream":true`, `"stream":false`, 1)
				bubble(t, simulator.Script{Replies: parse(t, everythingSaid)}, func(t *testing.T, p *simulator.Provider) {
					got := ask(t, p, path, whole)
					for _, words := range want {
						if !strings.Contains(got.body, words) || !json.Valid([]byte(got.body)) {
							t.Errorf("%s: %s\nwant %s", path, got.body, words)
						}
					}
				})
			}
		}
	}
}

func TestSay_ShowsReasoningOnRequest(t *testing.T) {
	const hidden = `think:"Let me see."+say:Yes+hidden`
	for _, row := range []struct{ reply, path, body, has, lacks string }{
		{everythingSaid, messages, streamed, "Two ", "thinking"},
		{everythingSaid, messages, `{"model":"claude-opus-4-8","stream":true,"thinking":{"type":"adaptive"}}`, `"signature_delta"`, "thinking_delta"},
		{everythingSaid, messages, `{"model":"claude-opus-4-8","stream":true,"thinking":{"type":"adaptive","display":"summarized"}}`, `"thinking_delta"`, "redacted"},
		{everythingSaid, messages, `{"model":"m","thinking":{"type":"adaptive","display":"omitted"}}`, `"thinking":"","signature":"c2ln`, "Let "},
		{hidden, messages, asking[0].body, `{"type":"redacted_thinking","data":"c2ln`, "thinking_delta"},
		{everythingSaid, responses, streamed, `{"id":"rs_000001","type":"reasoning","summary":[]}`, "summary_text"},
		{hidden, responses, asking[2].body, `"encrypted_content":"c2ln`, "summary_text"},
		{everythingSaid, geminiSSE, "{}", `"thoughtSignature":"c2ln`, "Let "},
		{`think:"Let me see."+say:Yes`, geminiSSE, "{}", `{"text":"","thoughtSignature":"c2ln`, "Let "},
		{hidden, completions, asking[1].body, `"reasoning_tokens":3`, "Let "},
		{hidden, ollamaChat, streamed, `"eval_count":4`, "Let "},
		{everythingSaid, ollamaChat, `{"model":"m","think":false}`, `"eval_count":5`, "Let "},
		{hidden, studio, streamed, `"reasoning_output_tokens":3`, "Let "},
	} {
		bubble(t, simulator.Script{Replies: parse(t, row.reply)}, func(t *testing.T, p *simulator.Provider) {
			got := ask(t, p, row.path, row.body).body
			if !strings.Contains(got, row.has) || strings.Contains(got, row.lacks) {
				t.Errorf("%s %s: %s\nwant %s and no %s", row.path, row.reply, got, row.has, row.lacks)
			}
		})
	}
}

func TestSay_MixedCallsAlternate(t *testing.T) {
	const both = `call:a{"x":"first call"}+call:b{"y":"second"}+mixed`
	for path, want := range map[string]string{
		messages:    `2 3 2 3 2`,
		completions: `0 1 0 1 0`,
		responses:   `0 1 0 1 0`,
	} {
		bubble(t, simulator.Script{Replies: parse(t, `think:hm+say:Look+`+both)}, func(t *testing.T, p *simulator.Provider) {
			var order []string
			for _, frame := range frames(ask(t, p, path, asking[0].body).body) {
				_, data, _ := strings.Cut(frame, "{")
				var f struct {
					Index       *int
					OutputIndex *int `json:"output_index"`
					Delta       any
					Choices     []struct {
						Delta struct {
							ToolCalls []struct {
								Index    json.Number
								Function struct{ Arguments string }
							} `json:"tool_calls"`
						}
					}
				}
				_ = json.Unmarshal([]byte("{"+data), &f)
				switch {
				case strings.Contains(data, `"input_json_delta"`) && !strings.Contains(data, `"partial_json":""`):
					order = append(order, string(rune('0'+*f.Index)))
				case strings.Contains(data, "function_call_arguments.delta"):
					order = append(order, string(rune('0'+*f.OutputIndex-2)))
				case len(f.Choices) > 0 && len(f.Choices[0].Delta.ToolCalls) > 0 && f.Choices[0].Delta.ToolCalls[0].Function.Arguments != "":
					order = append(order, f.Choices[0].Delta.ToolCalls[0].Index.String())
				}
			}
			if got := strings.Join(order, " "); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		})
	}
}

func TestSay_CutInsideACall(t *testing.T) {
	failures := map[string]string{messages: "event: error", completions: `"error":`, responses: "response.failed"}
	for _, row := range []struct {
		how            string
		broken, failed bool
	}{
		{"cut:4", true, false},
		{"cut:4:clean", false, false},
		{"cut:4:error", false, true},
	} {
		for _, a := range asking[:3] {
			script := simulator.Script{Replies: parse(t, `say:"Look at"+call:read{"path":"a.txt or b.txt"}+`+row.how)}
			bubble(t, script, func(t *testing.T, p *simulator.Provider) {
				got := ask(t, p, a.path, a.body)
				if !strings.Contains(got.body, `\"path\":`) || strings.Contains(got.body, "b.txt") {
					t.Errorf("%s %s: got %s, want a call that is cut within its arguments", a.path, row.how, got.body)
				}
				last := got.body[strings.LastIndex(strings.TrimSpace(got.body), "\n\n"):]
				if strings.Contains(last, failures[a.path]) != row.failed || errors.Is(got.err, io.ErrUnexpectedEOF) != row.broken {
					t.Errorf("%s %s: ends with %s, %v", a.path, row.how, last, got.err)
				}
			})
		}
	}
}

func TestSay_CutDoneIsAShorterAnswer(t *testing.T) {
	for reply, want := range map[string]string{
		everythingSaid + "+cut:2:done":                     `"content":"","reasoning_content":"Let me "}`,
		everythingSaid + "+cut:4:done":                     `"content":"Two ","reasoning_content":"Let me see."`,
		everythingSaid + "+cut:6:done+stop:length":         `"arguments":"{\"path\":"`,
		everythingSaid + "+cut:7:done+hidden":              `"arguments":"{\"path\":\"a.txt\"}"`,
		`call:a{"x":"first call"}+call:b+mixed+cut:2:done`: `"name":"b","arguments":""`,
	} {
		bubble(t, simulator.Script{Replies: parse(t, reply)}, func(t *testing.T, p *simulator.Provider) {
			got := ask(t, p, completions, plain).body
			got = strings.ReplaceAll(got, `,"refusal":null,"annotations":[]`, "")
			if !strings.Contains(got, want) || !json.Valid([]byte(got)) {
				t.Errorf("%s: %s\nwant %s", reply, got, want)
			}
		})
	}
}

func TestSay_StopReasons(t *testing.T) {
	for _, row := range []struct{ path, length, refusal string }{
		{messages, `"stop_reason":"max_tokens"`, `"stop_reason":"refusal"`},
		{completions, `"finish_reason":"length"`, `"finish_reason":"content_filter"`},
		{responses, `"status":"incomplete","background":false,"error":null,"incomplete_details":{"reason":"max_output_tokens"}`, `{"reason":"content_filter"}`},
		{geminiSSE, `"finishReason":"MAX_TOKENS"`, `"finishReason":"SAFETY"`},
		{interaction, `"status":"incomplete"`, `"code":"safety"`},
		{ollamaChat, `"done_reason":"length"`, `"done_reason":"stop"`},
	} {
		for _, body := range []string{streamed, unstreamed} {
			bubble(t, simulator.Script{Replies: parse(t, "say:a+stop:length, say:a+stop:refusal")}, func(t *testing.T, p *simulator.Provider) {
				for _, want := range []string{row.length, row.refusal} {
					if got := ask(t, p, row.path, body); !strings.Contains(got.body, want) {
						t.Errorf("%s: %s\nwant %s", row.path, got.body, want)
					}
				}
			})
		}
	}
}

func TestSay_InvalidArguments(t *testing.T) {
	for path, want := range map[string]string{
		messages:    `"name":"a","input":{}`,
		completions: `"arguments":"{oh"`,
		responses:   `"arguments":"{oh"`,
		geminiWhole: `"parts":[],"role":"model"},"finishReason":"MALFORMED_FUNCTION_CALL"`,
		ollamaChat:  `"content":"{oh"`,
	} {
		bubble(t, simulator.Script{Replies: parse(t, `call:a"{oh"`)}, func(t *testing.T, p *simulator.Provider) {
			if got := ask(t, p, path, unstreamed); !strings.Contains(got.body, want) {
				t.Errorf("%s: %s\nwant %s", path, got.body, want)
			}
		})
	}
}

func TestSay_CallIDs(t *testing.T) {
	gemini3 := strings.Replace(geminiWhole, "/m:", "/gemini-3-pro:", 1)
	for _, row := range []struct{ path, with, without string }{
		{completions, `{"id":"call_000001_0"`, `{"id":"","type"`},
		{ollamaChat, `[{"id":"call_000001_0"`, `[{"function"`},
		{gemini3, `{"functionCall":{"id":"call_000001_0"`, `{"functionCall":{"name"`},
		{geminiWhole, `{"functionCall":{"name"`, `{"functionCall":{"name"`},
	} {
		bubble(t, simulator.Script{Replies: parse(t, "call:a, call:a+no-ids")}, func(t *testing.T, p *simulator.Provider) {
			for _, want := range []string{row.with, row.without} {
				if got := ask(t, p, row.path, unstreamed); !strings.Contains(got.body, want) {
					t.Errorf("%s: %s\nwant %s", row.path, got.body, want)
				}
			}
		})
	}
}

func TestProvider_RepeatedPromptIsHalfCached(t *testing.T) {
	for _, row := range []struct{ path, body, want string }{
		{messages, `{"model":"m","system":[{"cache_control":{}}],"messages":[{"role":"user","content":"a"}]}`, `"input_tokens":12,"cache_creation_input_tokens":11,"cache_read_input_tokens":0`},
		{messages, `{"model":"m","system":[{"cache_control":{}}],"messages":[{"role":"assistant","content":"a"}]}`, `"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":12`},
		{messages, `{"model":"m","messages":[{"role":"assistant","content":"a"}]}`, `"input_tokens":16,"cache_creation_input_tokens":0,"cache_read_input_tokens":0`},
		{completions, `{"model":"m","messages":[{"role":"assistant","content":"a"}]}`, `"cached_tokens":8`},
		{responses, `{"model":"m","input":[{"role":"assistant","content":"a"}]}`, `"cached_tokens":7`},
		{geminiWhole, `{"contents":[{"role":"model","parts":[{"text":"a"}]}]}`, `"cachedContentTokenCount":7`},
	} {
		bubble(t, simulator.Script{}, func(t *testing.T, p *simulator.Provider) {
			if got := ask(t, p, row.path, row.body); !strings.Contains(got.body, row.want) {
				t.Errorf("%s: %s\nwant %s", row.body, got.body, row.want)
			}
		})
	}
}
