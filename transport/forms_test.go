package transport_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// wire is how one API streams an answer.
type wire struct {
	name, url, kind    string
	form               api.Form
	open, say, end     string // what comes before content, content, and what ends the answer
	error, whole, fail string // an error in the stream; an answer and an error that are not streamed
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

const (
	sse    = "text/event-stream"
	ndjson = "application/x-ndjson"
	google = `{"error": {"code": 503,"message": "The model is overloaded.","status": "UNAVAILABLE"}}`
)

// wires are all of them, those with events also with other line ends, as some servers send them.
var wires = append(vendors, lineEnds(vendors)...)

// lineEnds returns the wires with events, with CR as the end of each line and with all ends mixed.
func lineEnds(of []wire) (more []wire) {
	for _, w := range of {
		if w.form != api.Events {
			continue
		}
		for name, ends := range map[string]*strings.Replacer{
			"CR":    strings.NewReplacer("\r\n", "\r", "\n", "\r"),
			"mixed": strings.NewReplacer("\r\n\r\n", "\r\n\n", "\n\n", "\r\n\n", "\n", "\r"),
		} {
			v := w
			v.name += " " + name
			v.open, v.say = "\ufeff"+ends.Replace(w.open), ends.Replace(w.say)
			v.end, v.error = ends.Replace(w.end), ends.Replace(w.error)
			more = append(more, v)
		}
	}
	return more
}

var vendors = []wire{
	{
		"anthropic", "/v1/messages?beta=true", sse, api.Events, start, hi, stop, oops, answerJSON, overloadJSON,
	},
	{
		"openai-chat", "/v1/chat/completions", sse, api.Events,
		`data: {"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
		`data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n",
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		`data: {"error":{"message":"Overloaded","type":"server_error","code":503}}` + "\n\n",
		`{"choices":[{"message":{"content":"Hi"}}]}`, `{"error":{"message":"Overloaded","code":503}}`,
	},
	{
		"openai-completions", "/v1/completions", sse, api.Events,
		`data: {"choices":[{"text":"","finish_reason":null}]}` + "\n\n",
		`data: {"choices":[{"text":"Hi","finish_reason":null}]}` + "\n\n",
		"data: [DONE]\n\n",
		`data: {"error":{"message":"Overloaded","type":"server_error","code":503}}` + "\n\n",
		`{"choices":[{"text":"Hi"}]}`, `{"error":{"message":"Overloaded","code":503}}`,
	},
	{
		"openai-responses", "/v1/responses", sse, api.Events,
		event("response.created", `{"type":"response.created","response":{"status":"in_progress","error":null}}`) +
			event("response.output_item.added", `{"type":"response.output_item.added","item":{"type":"message","content":[]}}`),
		event("response.output_text.delta", `{"type":"response.output_text.delta","delta":"Hi"}`),
		event("response.completed", `{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}}`),
		event("response.failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded","message":"Overloaded"}}}`),
		`{"object":"response","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}`,
		`{"object":"response","status":"failed","error":{"code":"server_is_overloaded","message":"Overloaded"},"output":[]}`,
	},
	{
		"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", sse, api.Events,
		`data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"}}]}` + "\r\n\r\n",
		`data: {"candidates": [{"content": {"parts": [{"text": "Hi"}],"role": "model"}}]}` + "\r\n\r\n",
		`data: {"candidates": [{"content": {"parts": [{"text": "!"}]},"finishReason": "STOP"}]}` + "\r\n\r\n",
		"data: " + google + "\r\n\r\n",
		`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`, google,
	},
	{
		"gemini-interactions", "/v1beta/interactions", sse, api.Events,
		event("interaction.created", `{"interaction":{"id":"v1_a","status":"in_progress","model":"m"},"event_type":"interaction.created"}`) +
			event("step.start", `{"index":0,"step":{"type":"model_output"},"event_type":"step.start"}`),
		event("step.delta", `{"index":0,"delta":{"type":"text","text":"Hi"},"event_type":"step.delta"}`),
		event("interaction.completed", `{"interaction":{"id":"v1_a","status":"completed"},"event_type":"interaction.completed"}`) + event("done", "[DONE]"),
		event("error", `{"error":{"message":"The service is temporarily overloaded.","code":"service_unavailable"},"event_type":"error"}`),
		`{"id":"v1_a","status":"completed","steps":[{"type":"model_output","content":[{"type":"text","text":"Hi"}]}]}`,
		`{"id":"v1_a","status":"failed","errors":[{"message":"The service is temporarily overloaded.","code":"service_unavailable"}]}`,
	},
	{
		"gemini array", "/v1/models/m:streamGenerateContent", "application/json; charset=UTF-8", api.Array,
		`[{"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"}}]}`,
		"\n,\r\n" + `{"candidates": [{"content": {"parts": [{"text": "Hi"}],"role": "model"}}]}`,
		"\n,\r\n" + `{"candidates": [{"content": {"parts": [{"text": "!"}]},"finishReason": "STOP"}]}` + "\n]\n",
		"\n,\r\n" + google + "\n]\n",
		`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`, google,
	},
	{
		"cohere", "/v2/chat", sse, api.Events,
		event("message-start", `{"type":"message-start","id":"1","delta":{"message":{"role":"assistant","content":[]}}}`) +
			event("content-start", `{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}`),
		event("content-delta", `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}`),
		event("message-end", `{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}`) + "data: [DONE]\n\n",
		event("message-end", `{"type":"message-end","delta":{"finish_reason":"ERROR","error":"The model is overloaded."}}`),
		`{"id":"1","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]}}`,
		`{"id":"1","message":"The model is overloaded."}`,
	},
	{
		"anthropic-vertex", "/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", sse, api.Events,
		start, hi, stop, oops, answerJSON, "[" + google + "]",
	},
	{
		"ollama", "/api/chat", ndjson, api.Lines,
		`{"model":"m","message":{"role":"assistant","content":""},"done":false}` + "\n",
		`{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}` + "\n",
		`{"model":"m","message":{"role":"assistant","content":"!"},"done":true,"done_reason":"stop"}` + "\n",
		`{"error":"server busy, please try again.  maximum pending requests exceeded"}` + "\n",
		`{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true}`,
		`{"error":"server busy, please try again.  maximum pending requests exceeded"}`,
	},
	{
		"lmstudio", "/api/v1/chat", sse, api.Events,
		event("chat.start", `{"type":"chat.start","model_instance_id":"m"}`) + event("model_load.start", `{"type":"model_load.start"}`),
		event("message.delta", `{"type":"message.delta","content":"Hi"}`),
		event("chat.end", `{"type":"chat.end","result":{"output":[{"type":"message","content":"Hi"}]}}`),
		event("error", `{"type":"error","error":{"type":"internal_error","message":"The model is unloaded."}}`),
		`{"output":[{"type":"message","content":"Hi"}]}`, `{"error":{"type":"internal_error","message":"The model is unloaded."}}`,
	},
}

// request asks the wire's API for an answer.
func (w wire) request(t *testing.T) *http.Request {
	req := post(t.Context())
	req.URL.Path, req.URL.RawQuery, _ = strings.Cut(w.url, "?")
	return req
}

// sent sends a request to the wire's API.
func (w wire) sent(t *testing.T, u *upstream) (resp response) {
	r, err := (&transport.Transport{Base: u, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(w.request(t))
	if err != nil {
		t.Fatalf("RoundTrip of %s: got error %v, want none", w.name, err)
	}
	text, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	resp.status, resp.text, resp.err, resp.tries = r.StatusCode, string(text), err, len(u.bodies)
	resp.watched, _ = r.Body.(transport.Watched)
	return resp
}

type response struct {
	status, tries int
	text          string
	err           error
	watched       transport.Watched
}

func (w wire) stream(text string) reply { return reply{status: 200, kind: w.kind, body: text} }

func TestTransport_EveryDialectIsRetriedBeforeContentOnly(t *testing.T) {
	for _, w := range wires {
		good := w.open + w.say + w.say + w.end
		first := w.error
		if w.form == api.Array {
			first = "[" + strings.TrimLeft(first, "\n,\r")
		}
		for name, fails := range map[string]reply{
			"error first":          w.stream(first),
			"opening, then error":  w.stream(w.open + w.error),
			"opening, then reset":  w.stream(w.open).ends(errors.New("connection reset by peer")),
			"opening, then end":    w.stream(w.open),
			"half of content":      w.stream(w.open + w.say[:len(w.say)-3]),
			"nothing":              w.stream(""),
			"page":                 {status: 200, kind: "text/html", body: "<html>502</html>"},
			"page under its type":  w.stream("<html>502</html>"),
			"error, not streamed":  ok(w.fail),
			"error under its type": w.stream(w.fail),
		} {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{replies: []reply{fails, fails, w.stream(good)}}
				got := w.sent(t, u)
				if got.text != good || got.err != nil || got.tries != 3 || got.watched == nil || got.watched.Form() != w.form {
					t.Errorf("%s, %s: %q, %v after %d tries", w.name, name, got.text, got.err, got.tries)
				}
			})
		}
	}
}

func TestTransport_EveryDialectNoticesHowAnAnswerEnds(t *testing.T) {
	reset := errors.New("connection reset by peer")
	for _, w := range wires {
		half := w.open + w.say
		for _, tt := range []struct {
			reply reply
			text  string
			cut   bool
		}{
			{w.stream(half + w.end), half + w.end, false},
			{w.stream(half + w.say), half + w.say, true},
			{w.stream(half + w.say).ends(reset), half + w.say, true},
			{w.stream(half + w.say[:len(w.say)-3]).ends(reset), half, true},
			{w.stream(half + w.error), half + w.error, false},
		} {
			got := w.sent(t, &upstream{replies: []reply{tt.reply}})
			f, _ := errors.AsType[*fault.Error](got.err)
			if f != nil && got.watched.Form() == api.Lines {
				got.text = string(unspelt(t, []byte(got.text)))
			}
			if got.text != tt.text || got.tries != 1 || tt.cut != (f != nil) || (tt.cut && f.Kind != fault.Truncated) {
				t.Errorf("%s, %q: got %q in %d tries and error %v, want %q in 1, cut: %v", w.name, tt.reply.body, got.text, got.tries, got.err, tt.text, tt.cut)
			}
			if failed := strings.HasSuffix(tt.text, w.error); failed != (got.watched.Failure() != nil) ||
				failed && got.watched.Failure().Kind != fault.Overloaded {
				t.Errorf("%s: the failure told is %v", w.name, got.watched.Failure())
			}
		}
	}
}

func TestTransport_EveryDialectExaminesAWholeAnswer(t *testing.T) {
	for _, w := range wires {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{replies: []reply{ok(w.fail), ok(w.whole[:len(w.whole)-4]), ok(w.whole)}}
			if got := w.sent(t, u); got.text != w.whole || got.err != nil || got.tries != 3 {
				t.Errorf("%s: %q, %v after %d tries", w.name, got.text, got.err, got.tries)
			}
		})
	}
}

func TestTransport_TerminatorWithTheWholeAnswerIsOne(t *testing.T) {
	for _, w := range wires {
		switch w.name {
		case "openai-responses", "ollama", "lmstudio", "gemini":
			got := w.sent(t, &upstream{replies: []reply{w.stream(w.end)}})
			if got.text != w.end || got.err != nil || got.tries != 1 {
				t.Errorf("%s: %q, %v after %d tries", w.name, got.text, got.err, got.tries)
			}
		}
	}
}

func TestTransport_ErrorWithoutABodyStaysEmpty(t *testing.T) {
	for _, w := range wires {
		got := w.sent(t, &upstream{replies: []reply{{status: 401}}})
		if w.name != "ollama" && (got.text != "" || got.status != 401) {
			t.Errorf("%s: got %d with the body %q, want 401 without one", w.name, got.status, got.text)
		}
	}
}

func TestTransport_ErrorOfOllamaWithoutABodyGetsOne(t *testing.T) {
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Status: "503 Service Unavailable", Header: http.Header{"X-Own": {"yes"}}, Body: http.NoBody}, nil
	})
	tr := &transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Policy{Retries: 2}}}
	req, _ := http.NewRequest("POST", "http://ollama.test/api/chat", strings.NewReader(`{"model":"m"}`))
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("X-Own") != "yes" || !strings.HasPrefix(string(body), `{"error":"`) {
		t.Errorf("response: got %d %v %q and error %v, want 503 with the header and the error", resp.StatusCode, resp.Header, body, err)
	}
}
