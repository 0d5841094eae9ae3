package sdk_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// BenchmarkLibrary puts what a transport of ours adds to a call that meets no
// fault beside what a widely used library for retries adds. The answer comes
// from memory, since on a connection both would be lost in the noise.
func BenchmarkLibrary(b *testing.B) {
	answer := []byte(`{"id":"1","choices":[{"message":{"role":"assistant","content":"forty-two"}}]}`)
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(answer)), Request: req,
		}, nil
	})
	peer := retryablehttp.NewClient()
	peer.HTTPClient, peer.Logger = &http.Client{Transport: base}, nil
	ours := &transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Patient()}}
	prompt := bytes.Repeat([]byte("word "), 200)
	for _, bench := range []struct {
		name   string
		client *http.Client
	}{
		{"bare", &http.Client{Transport: base}},
		{"ours", &http.Client{Transport: ours}},
		{"go-retryablehttp", peer.StandardClient()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://provider.test/v1/chat/completions", bytes.NewReader(prompt))
				if err != nil {
					b.Fatalf("new request with context: %v", err)
				}
				resp, err := bench.client.Do(req)
				if err != nil {
					b.Fatalf("do: %v", err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}
