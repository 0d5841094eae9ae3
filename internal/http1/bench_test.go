package http1_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ridethrough/ridethrough/internal/http1"
)

// stored is a body that need not be read.
type stored struct {
	bytes.Reader
	text []byte
}

func (s *stored) Bytes() []byte { return s.text }
func (*stored) Close() error    { return nil }

// client sends requests for a benchmark over one transport.
type client struct {
	name string
	rt   http.RoundTripper
	body func([]byte) io.ReadCloser
}

func plainBody(text []byte) io.ReadCloser  { return io.NopCloser(bytes.NewReader(text)) }
func storedBody(text []byte) io.ReadCloser { return &stored{*bytes.NewReader(text), text} }

func clients(b *testing.B) []client {
	theirs := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	ours := &http1.Transport{}
	b.Cleanup(theirs.CloseIdleConnections)
	b.Cleanup(ours.CloseIdleConnections)
	return []client{{"net", theirs, plainBody}, {"ours", ours, plainBody}, {"ours-stored", ours, storedBody}}
}

// call sends one request and reads its answer as the gateway does.
func (c client) call(b *testing.B, req *http.Request, text, buf []byte) {
	req.Body = c.body(text)
	resp, err := c.rt.RoundTrip(req)
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

func benchmark(b *testing.B, answer http.HandlerFunc, sizes ...int) {
	server := httptest.NewServer(answer)
	b.Cleanup(server.Close)
	for _, size := range sizes {
		text := bytes.Repeat([]byte("x"), size)
		for _, c := range clients(b) {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, c.name), func(b *testing.B) {
				req, _ := http.NewRequestWithContext(b.Context(), "POST", server.URL+"/v1/messages", bytes.NewReader(text))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer none")
				req.Header.Set("User-Agent", "bench/1")
				buf := make([]byte, 16<<10)
				b.ReportAllocs()
				for b.Loop() {
					c.call(b, req, text, buf)
				}
			})
		}
	}
}

// BenchmarkRequest holds a short answer to a request against net/http's.
func BenchmarkRequest(b *testing.B) {
	answer := bytes.Repeat([]byte("y"), 1<<10)
	benchmark(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}, 1<<10, 64<<10, 512<<10)
}

// BenchmarkStream holds an answer in 50 chunks against net/http's.
func BenchmarkStream(b *testing.B) {
	chunk := []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"}}]}\n\n")
	benchmark(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range 50 {
			_, _ = w.Write(chunk)
			_ = http.NewResponseController(w).Flush()
		}
	}, 1<<10)
}
