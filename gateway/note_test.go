package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
)

// inParts is a provider whose answer comes in parts, so that the headers are out before its end is read.
func inParts(kind string, parts ...string) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		var all []io.Reader
		for _, p := range parts {
			all = append(all, strings.NewReader(p))
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(io.MultiReader(all...)), Request: req}, nil
	}
}

// noteOf returns the note in the event of the last request's end.
func (w *harness) noteOf() (note api.Note) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[len(w.all)-1].Note
}

// response is a response as llama-server and Ollama send it, with a number of tokens.
func response(status, details string, tokens int) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","status":%q,"incomplete_details":%s,"model":"tiny",`+
		`"output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"The quick","annotations":[]}]}],`+
		`"usage":{"input_tokens":5,"output_tokens":%d,"total_tokens":9}}`, status, details, tokens)
}

// lastLine is how Ollama ends an answer.
func lastLine(reason string, prompt int) string {
	return fmt.Sprintf(`{"model":"tiny","created_at":"2026-11-01T07:00:00Z","message":{"role":"assistant","content":"The quick"},"done":true,"done_reason":%q,"total_duration":5,"prompt_eval_count":%d,"eval_count":4}`, reason, prompt)
}

func TestGateway_NotesWhatAnAnswerDoesNotSay(t *testing.T) {
	asks := func(limit string) string { return `{"model":"tiny","input":"Hi"` + limit + `,"stream":STREAM}` }
	chats := func(prompt int, options string) string {
		return `{"model":"tiny","stream":STREAM,"messages":[{"role":"user","content":"` + strings.Repeat("word ", prompt) + `"}],"options":{"seed":1` + options + `}}`
	}
	tests := []struct {
		name, path, request, end string
		want                     api.Note
	}{
		{"limit, completed", "/v1/responses", asks(`,"max_output_tokens":4`), response("completed", "null", 4), api.AtLimit},
		{"limit, incomplete", "/v1/responses", asks(`,"max_output_tokens":4`), response("incomplete", `{"reason":"max_output_tokens"}`, 4), ""},
		{"below the limit", "/v1/responses", asks(`,"max_output_tokens":5`), response("completed", "null", 4), ""},
		{"no limit", "/v1/responses", asks(""), response("completed", "null", 4), ""},
		{"limit in the prompt only", "/v1/responses", asks(`,"text":{"max_output_tokens":4}`), response("completed", "null", 4), ""},
		{"prompt cut to the default", "/api/chat", chats(6000, ""), lastLine("stop", 4096), api.PromptCut},
		{"prompt cut to num_ctx", "/api/chat", chats(6000, `,"num_ctx":3000`), lastLine("stop", 3000), api.PromptCut},
		{"prompt cut to the model's own context", "/api/chat", chats(6000, `,"num_ctx":9000`), lastLine("length", 2048), api.PromptCut},
		{"prompt that just fits", "/api/chat", chats(4090, ""), lastLine("stop", 4096), ""},
		{"prompt of another length", "/api/chat", chats(6000, ""), lastLine("stop", 4097), ""},
		{"prompt below num_ctx", "/api/chat", chats(6000, `,"num_ctx":8000`), lastLine("stop", 6010), ""},
		{"healthy", "/api/chat", chats(10, ""), lastLine("stop", 30), ""},
		{"counts from a cache", "/api/chat", chats(6000, ""), lastLine("stop", 0), ""},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				provider := inParts("application/json", tt.end)
				switch {
				case stream && tt.path == "/api/chat":
					provider = inParts("application/x-ndjson", `{"model":"tiny","message":{"role":"assistant","content":"The"},"done":false}`+"\n", tt.end+"\n")
				case stream:
					kind := "response.completed"
					if strings.Contains(tt.end, `"status":"incomplete"`) {
						kind = "response.incomplete"
					}
					provider = inParts("text/event-stream",
						`event: response.output_text.delta`+"\n"+`data: {"type":"response.output_text.delta","output_index":0,"delta":"The quick"}`+"\n\n",
						"event: "+kind+"\ndata: "+`{"type":"`+kind+`","response":`+tt.end+"}\n\n")
				}
				w := newHarnessOf(t, policy.Patient(), provider)
				resp, text, err := w.get(tt.path, strings.Replace(tt.request, "STREAM", fmt.Sprint(stream), 1))
				if err != nil || resp.StatusCode != 200 || !strings.Contains(text, tt.end) {
					t.Fatalf("%s, stream %t: got %d %q, error %v; want the answer as it came", tt.name, stream, resp.StatusCode, text, err)
				}
				header := tt.want
				if stream {
					header = "" // it is out
				}
				if got, event := resp.Header.Get("X-Ridethrough-Note"), w.noteOf(); got != string(header) || event != tt.want {
					t.Errorf("%s, stream %t: got the header %q and the note %q, want %q and %q", tt.name, stream, got, event, header, tt.want)
				}
			})
		}
	}
}

// Ollama ends an answer without done where a word repeats more than 30 times. A whole one is noted; a stream has no end.
func TestGateway_AnswerWithoutDone(t *testing.T) {
	line := `{"model":"tiny","created_at":"2026-11-01T07:00:00Z","message":{"role":"assistant","content":" GG"},"done":false}`
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Patient(), inParts("application/json", strings.Replace(line, " GG", strings.Repeat(" GG", 31), 1)))
		resp, text, err := w.get("/api/chat", `{"stream":false,`+llama[1:])
		if err != nil || !strings.HasSuffix(text, `"done":false}`) || resp.Header.Get("X-Ridethrough-Note") != "no-end" || w.noteOf() != api.NoEnd {
			t.Errorf("whole: got %q with %v, error %v; want the answer and the note no-end", text, resp.Header, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Patient(), inParts("application/x-ndjson", strings.Repeat(line+"\n", 31)))
		_, text, _ := w.get("/api/chat", llama)
		const want = "the answer broke off: its server ended it without done, as Ollama does when a word repeats more than 30 times"
		if f := w.failure().Fault; strings.Count(text, " GG") != 31 || !strings.Contains(text, want) || f.Message != want {
			t.Errorf("stream: got %q, fault %q; want the answer and an error with %q", text, f.Message, want)
		}
	})
}

// A call that got an answer by retries has the note as well, in a header while that is the gateway's to write.
func TestGateway_NoteAfterARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		answer := inParts("application/json", response("completed", "null", 4))
		w := newHarnessWith(t, gateway.Config{Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			if fails {
				fails = false
				return says(503, `{"error":{"message":"busy"}}`)(r)
			}
			return answer(r)
		})})
		resp, _, err := w.get("/v1/responses", `{"model":"tiny","input":"Hi","max_output_tokens":4}`)
		if err != nil || resp.Header.Get("X-Ridethrough-Note") != "at-limit" || resp.Header.Get("X-Ridethrough-Retries") != "1" || w.noteOf() != api.AtLimit {
			t.Errorf("got %v, note %q, error %v; want the note at-limit and one retry", resp.Header, w.noteOf(), err)
		}
	})
}
