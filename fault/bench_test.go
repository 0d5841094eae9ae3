package fault_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
)

func BenchmarkFromResponse(b *testing.B) {
	limited := headers("retry-after", "7", "request-id", "req_011", "date", "Mon, 02 Nov 2026 21:00:00 GMT",
		"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-11-02T21:00:09Z")
	benchmarks := []struct {
		name   string
		status int
		header http.Header
		body   string
	}{
		{"529", 529, headers("request-id", "req_011"), said("overloaded_error", "Overloaded")},
		{"429", 429, limited, said("rate_limit_error", "This request would exceed your organization's rate limit of 80,000 input tokens per minute.")},
		{"429 openai", 429, nil, coded("requests", "rate_limit_exceeded", "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.")},
		{"64 KiB of prose", 500, nil, strings.Repeat("the limit of context exceeds a daily try {\"error\":1} ", 64<<10/52)},
	}
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			body := []byte(bb.body)
			b.ReportAllocs()
			for b.Loop() {
				fault.FromResponse(bb.status, bb.header, body, start)
			}
		})
	}
}

func BenchmarkOf(b *testing.B) {
	err := errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer")
	b.ReportAllocs()
	for b.Loop() {
		fault.Of(err, start)
	}
}
