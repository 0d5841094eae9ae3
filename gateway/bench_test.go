package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// BenchmarkGateway measures the cost of the gateway itself: there is no network,
// and the upstream answers from memory. Beside it are measured a gateway with a key of
// its own, which it keeps out of the answers, and a net/http/httputil proxy.
func BenchmarkGateway(b *testing.B) {
	stream := strings.Repeat(`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n", 50) + "data: [DONE]\n\n"
	limits := http.Header{
		"X-Ratelimit-Limit-Requests": {"10000000000"}, "X-Ratelimit-Remaining-Requests": {"9999999999"}, "X-Ratelimit-Reset-Requests": {"6ms"},
		"X-Ratelimit-Limit-Tokens": {"1000000000000"}, "X-Ratelimit-Remaining-Tokens": {"999999999000"}, "X-Ratelimit-Reset-Tokens": {"12ms"},
	}
	for _, bench := range []struct {
		name, kind, answer string
		size               int
		header             http.Header
		session            string
	}{
		{"JSON 1 KB", "application/json", `{"id":"1","choices":[{"message":{"content":"Hello"}}]}`, 1 << 10, nil, ""},
		{"JSON 64 KB", "application/json", `{"id":"1","choices":[{"message":{"content":"Hello"}}]}`, 64 << 10, nil, ""},
		{"JSON 512 KB", "application/json", `{"id":"1","choices":[{"message":{"content":"Hello"}}]}`, 512 << 10, nil, ""},
		{"stream of 50", "text/event-stream", stream, 1 << 10, nil, ""},
		{"stream of 50 with limits", "text/event-stream", stream, 1 << 10, limits, ""},
		{"stream of 50 in a session", "text/event-stream", stream, 1 << 10, nil, "s1"},
	} {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, req.Body)
			_ = req.Body.Close()
			h := http.Header{"Content-Type": {bench.kind}}
			maps.Copy(h, bench.header)
			return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader(bench.answer))}, nil
		})
		g, err := gateway.New(gateway.Config{Policy: policy.Patient(), Upstreams: everything(address("provider.test")), Base: base})
		if err != nil {
			b.Fatal(err)
		}
		upstreams := everything(address("provider.test"))
		for i := range upstreams {
			upstreams[i].Key = func() (string, error) { return ownKey, nil }
		}
		own, err := gateway.New(gateway.Config{Policy: policy.Patient(), Upstreams: upstreams, Base: base})
		if err != nil {
			b.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{Transport: base, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: "provider.test"}) }}
		body := []byte(`{"model":"gpt-5","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", bench.size/5) + `"}]}`)
		for name, handler := range map[string]http.Handler{"ridethrough": g, "with its own key": own, "ReverseProxy": proxy} {
			b.Run(bench.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req := httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body))
					if bench.session != "" {
						req.Header.Set(sessionID, bench.session)
					}
					handler.ServeHTTP(&recorder{header: http.Header{}}, req)
				}
			})
		}
	}
}

// BenchmarkComplete measures what it costs to be able to complete an answer: per event of one that does not break
// off, and whose events arrive one by one. Off is the cost without.
func BenchmarkComplete(b *testing.B) {
	for _, stream := range completeStreams() {
		for _, mode := range []gateway.CompleteMode{gateway.CompleteOff, gateway.CompleteLossless, gateway.CompleteText} {
			b.Run(stream.name+"/"+string(mode), func(b *testing.B) { benchmarkComplete(b, stream, mode) })
		}
	}
}

// completeStream is an answer of one kind of events.
type completeStream struct {
	name, path, begin, end string
	event                  func(n int) string
}

// completeStreams returns answers as the APIs send them.
func completeStreams() []completeStream {
	chat := func(name, member, value string) completeStream {
		return completeStream{name: name, path: "/v1/chat/completions", end: "data: [DONE]\n\n", event: func(n int) string {
			return `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"` + member + `":` + fmt.Sprintf(value, n) + `},"finish_reason":null}]}` + "\n\n"
		}}
	}
	named := func(kind, data string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"," + data + "}\n\n"
	}
	messages := func(name, block, delta string) completeStream {
		return completeStream{
			name: name, path: "/v1/messages",
			begin: named("message_start", `"message":{"id":"1","model":"claude-5","usage":{"input_tokens":1}}`) + named("content_block_start", `"index":0,"content_block":`+block),
			end:   named("content_block_stop", `"index":0`) + named("message_delta", `"delta":{"stop_reason":"end_turn"}`) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			event: func(n int) string {
				return named("content_block_delta", `"index":0,"delta":`+fmt.Sprintf(delta, n))
			},
		}
	}
	responses := func(name, item, kind string) completeStream {
		return completeStream{
			name: name, path: "/v1/responses",
			begin: named("response.created", `"sequence_number":0,"response":{"id":"resp_1"}`) + named("response.output_item.added", `"sequence_number":1,"output_index":0,"item":`+item),
			end:   named("response.completed", `"sequence_number":9999,"response":{"id":"resp_1","status":"completed"}`),
			event: func(n int) string {
				return named(kind, fmt.Sprintf(`"sequence_number":%d,"item_id":"it_0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,"delta":"word %d"`, n+2, n))
			},
		}
	}
	return []completeStream{
		chat("chat text", "content", `"word %d"`), chat("chat reasoning", "reasoning_content", `"word %d"`),
		chat("chat calls", "tool_calls", `[{"index":0,"function":{"arguments":"word %d"}}]`),
		messages("messages text", `{"type":"text","text":""}`, `{"type":"text_delta","text":"word %d"}`),
		messages("messages reasoning", `{"type":"thinking","thinking":""}`, `{"type":"thinking_delta","thinking":"word %d"}`),
		messages("messages calls", `{"type":"tool_use","id":"1","name":"write","input":{}}`, `{"type":"input_json_delta","partial_json":"word %d"}`),
		responses("responses text", `{"id":"it_0123456789abcdef0123456789abcdef","type":"message","content":[]}`, "response.output_text.delta"),
		responses("responses reasoning", `{"id":"it_0123456789abcdef0123456789abcdef","type":"reasoning","summary":[]}`, "response.reasoning_summary_text.delta"),
		responses("responses calls", `{"id":"it_0123456789abcdef0123456789abcdef","type":"function_call","name":"write","arguments":""}`, "response.function_call_arguments.delta"),
	}
}

func benchmarkComplete(b *testing.B, stream completeStream, mode gateway.CompleteMode) {
	const events = 1000
	all := []string{stream.begin}
	for n := range events {
		all = append(all, stream.event(n))
	}
	all = append(all, stream.end)
	base := roundTrip(func(req *http.Request) (*http.Response, error) {
		_ = req.Body.Close()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &oneByOne{all: all}}, nil
	})
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Complete = mode
	}
	g := newBenchmarked(b, gateway.Config{Policy: policy.Patient(), Upstreams: upstreams, Base: base})
	b.ReportAllocs()
	for b.Loop() {
		w := &recorder{header: http.Header{}}
		g.ServeHTTP(w, httptest.NewRequest("POST", stream.path, strings.NewReader(gpt)))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

// newBenchmarked returns a gateway, whose configuration must be valid.
func newBenchmarked(b *testing.B, c gateway.Config) *gateway.Gateway {
	g, err := gateway.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// oneByOne is a stream with one event for each read.
type oneByOne struct {
	all  []string
	part string // of the event that is read
}

// Read implements io.Reader.
func (o *oneByOne) Read(p []byte) (int, error) {
	if o.part == "" {
		if len(o.all) == 0 {
			return 0, io.EOF
		}
		o.part, o.all = o.all[0], o.all[1:]
	}
	n := copy(p, o.part)
	o.part = o.part[n:]
	return n, nil
}

// Close implements io.Closer.
func (o *oneByOne) Close() error { return nil }

// BenchmarkAdmission measures what limits cost a request that meets none: streams of a session from memory, with and
// without limits stated in the answers.
func BenchmarkAdmission(b *testing.B) {
	stream := strings.Repeat(`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n", 50) +
		`data: {"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":300,"completion_tokens":50}}` + "\n\ndata: [DONE]\n\n"
	stated := http.Header{
		"X-Ratelimit-Limit-Requests": {"10000000000"}, "X-Ratelimit-Remaining-Requests": {"9999999999"}, "X-Ratelimit-Reset-Requests": {"6ms"},
		"X-Ratelimit-Limit-Tokens": {"1000000000000"}, "X-Ratelimit-Remaining-Tokens": {"999999999000"}, "X-Ratelimit-Reset-Tokens": {"12ms"},
	}
	others := http.Header{ // as many of others
		"X-Request-Limit-Requests": {"10000000000"}, "X-Request-Remaining-Requests": {"9999999999"}, "X-Request-Reset-Requests": {"6ms"},
		"X-Request-Limit-Tokens": {"1000000000000"}, "X-Request-Remaining-Tokens": {"999999999000"}, "X-Request-Reset-Tokens": {"12ms"},
	}
	body := `{"model":"gpt-5","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 200) + `"}]}`
	for _, bench := range []struct {
		name   string
		mode   gateway.Admission
		header http.Header
	}{
		{"off/none", gateway.AdmissionOff, others},
		{"learned/none", gateway.AdmissionLearned, others},
		{"off/stated", gateway.AdmissionOff, stated},
		{"learned/stated", gateway.AdmissionLearned, stated},
	} {
		b.Run(bench.name, func(b *testing.B) {
			base := roundTrip(func(req *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, req.Body)
				_ = req.Body.Close()
				h := http.Header{"Content-Type": {"text/event-stream"}}
				maps.Copy(h, bench.header)
				return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader(stream))}, nil
			})
			upstreams := everything(address("provider.test"))
			for i := range upstreams {
				upstreams[i].Admission = bench.mode
			}
			g := newBenchmarked(b, gateway.Config{Policy: policy.Patient(), Upstreams: upstreams, Base: base})
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body))
				req.Header.Set(sessionID, "s1")
				g.ServeHTTP(&recorder{header: http.Header{}}, req)
			}
		})
	}
}
