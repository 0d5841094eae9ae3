package transport_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// static answers every request with the same short answer.
type static struct {
	header http.Header
	body   []byte
}

func (s *static) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: s.header, Body: &memory{Reader: *bytes.NewReader(s.body)}, Request: req}, nil
}

type memory struct{ bytes.Reader }

func (*memory) Close() error { return nil }

// BenchmarkTransport holds a successful call through a Transport against the
// bare RoundTripper. The bytes must not grow with the request's body.
func BenchmarkTransport(b *testing.B) {
	json := &static{http.Header{"Content-Type": {"application/json"}}, []byte(answerJSON)}
	stream := &static{http.Header{"Content-Type": {"text/event-stream"}}, []byte(start + hi + stop)}
	engine := retry.Retrier{Policy: policy.Patient()}
	for _, size := range []int{1 << 10, 512 << 10} {
		prompt := bytes.Repeat([]byte("x"), size)
		for _, bb := range []struct {
			name string
			path string
			rt   http.RoundTripper
		}{
			{"json/bare", "/v1/messages", json},
			{"json/ours", "/v1/messages", &transport.Transport{Base: json, Retry: engine}},
			{"stream/bare", "/v1/messages", stream},
			{"stream/ours", "/v1/messages", &transport.Transport{Base: stream, Retry: engine}},
			{"stream/limits", "/v1/messages", &transport.Transport{Base: stream, Retry: engine, Limits: limits}},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", bb.name, size>>10), func(b *testing.B) {
				req, _ := http.NewRequestWithContext(b.Context(), "POST", "http://api.test"+bb.path, bytes.NewReader(prompt))
				b.ReportAllocs()
				for b.Loop() {
					resp, err := bb.rt.RoundTrip(req)
					if err != nil {
						b.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
	}
}

// BenchmarkStream reads an answer of 50 chunks that come at once.
func BenchmarkStream(b *testing.B) {
	chunk := func(delta, reason string) string {
		return `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}` + "\n\n"
	}
	answer := chunk(`{"role":"assistant","content":""}`, "null")
	for i := range 50 {
		answer += chunk(fmt.Sprintf(`{"content":" token%d"}`, i), "null")
	}
	answer += chunk(`{}`, `"stop"`) + "data: [DONE]\n\n"
	base := &static{http.Header{"Content-Type": {"text/event-stream"}}, []byte(answer)}
	rt := &transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Patient()}, Limits: limits}
	req, _ := http.NewRequestWithContext(b.Context(), "POST", "http://api.test/v1/chat/completions", bytes.NewReader([]byte(prompt)))
	buf := make([]byte, 16<<10)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = resp.Body.Read(buf)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

// BenchmarkOverHTTP holds the same call against a real http.Transport and its
// connection: what counts there is the difference of the allocations.
func BenchmarkOverHTTP(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answerJSON)
	}))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	for _, bb := range []struct {
		name string
		rt   http.RoundTripper
	}{{"bare", base}, {"ours", &transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Patient()}}}} {
		b.Run(bb.name, func(b *testing.B) {
			req, _ := http.NewRequestWithContext(b.Context(), "POST", server.URL+"/v1/messages", bytes.NewReader([]byte(prompt)))
			b.ReportAllocs()
			for b.Loop() {
				req.Body, _ = req.GetBody()
				resp, err := bb.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
