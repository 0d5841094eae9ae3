package gateway_test

import (
	"bytes"
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

// BenchmarkComplete measures what it costs to be able to ask for an answer again: per event of a stream whose events
// arrive one by one, of text and of reasoning. Off is the cost without.
func BenchmarkComplete(b *testing.B) {
	const events = 1000
	delta := func(member, word string) string {
		return `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"` + member + `":"` + word + ` "},"finish_reason":null}]}` + "\n\n"
	}
	for _, member := range []string{"content", "reasoning_content"} {
		for _, mode := range gateway.CompleteModes() {
			b.Run(member+"/"+string(mode), func(b *testing.B) {
				base := roundTrip(func(req *http.Request) (*http.Response, error) {
					_ = req.Body.Close()
					body := &oneByOne{all: [2]string{delta(member, "one"), delta(member, "another")}, left: events}
					return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
				})
				upstreams := everything(address("provider.test"))
				for i := range upstreams {
					upstreams[i].Complete = mode
				}
				g := newBenchmarked(b, gateway.Config{Policy: policy.Patient(), Upstreams: upstreams, Base: base})
				b.ReportAllocs()
				for b.Loop() {
					g.ServeHTTP(&recorder{header: http.Header{}}, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(gpt)))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
			})
		}
	}
}

// newBenchmarked returns a gateway, whose configuration must be valid.
func newBenchmarked(b *testing.B, c gateway.Config) *gateway.Gateway {
	g, err := gateway.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// oneByOne is a stream with one of two events for each read, and then the last one.
type oneByOne struct {
	all  [2]string
	left int
}

// Read implements io.Reader.
func (o *oneByOne) Read(p []byte) (int, error) {
	if o.left--; o.left < 0 {
		return copy(p, "data: [DONE]\n\n"), io.EOF
	}
	return copy(p, o.all[o.left%2]), nil
}

// Close implements io.Closer.
func (o *oneByOne) Close() error { return nil }
