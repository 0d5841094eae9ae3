package classify_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault/classify"
)

// geminiQuota is a 429 of the Gemini API with all its details.
const geminiQuota = `{
  "error": {
    "code": 429,
    "message": "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 2\nPlease retry in 54.887755558s.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [
          {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
            "quotaDimensions": { "location": "global", "model": "gemini-2.5-pro" },
            "quotaValue": "2"
          }
        ]
      },
      {
        "@type": "type.googleapis.com/google.rpc.Help",
        "links": [ { "description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits" } ]
      },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "54s" }
    ]
  }
}`

func BenchmarkFromResponse(b *testing.B) {
	limited := headers("retry-after", "7", "request-id", "req_011", "date", "Mon, 02 Nov 2026 21:00:00 GMT",
		"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-11-02T21:00:09Z")
	benchmarks := []struct {
		name   string
		status int
		header http.Header
		body   string
	}{
		{"529", 529, headers("request-id", "req_011"), anthropicBody("overloaded_error", "Overloaded")},
		{"429", 429, limited, anthropicBody("rate_limit_error", "This request would exceed your organization's rate limit of 80,000 input tokens per minute.")},
		{"429 openai", 429, nil, openAIBody("requests", "rate_limit_exceeded", "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.")},
		{"429 gemini", 429, nil, geminiQuota},
		{"502 page", 502, nil, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body></html>"},
		{"64 KiB of prose", 500, nil, strings.Repeat("the limit of context exceeds a daily try {\"error\":1} ", 64<<10/52)},
	}
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			body := []byte(bb.body)
			b.ReportAllocs()
			for b.Loop() {
				classify.FromResponse(bb.status, bb.header, body, start)
			}
		})
	}
}

func BenchmarkOf(b *testing.B) {
	err := errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer")
	b.ReportAllocs()
	for b.Loop() {
		classify.Of(err, start)
	}
}

// BenchmarkHugeBodies reads 64 KiB of each text that is hard to read. None may
// take more than a millisecond.
func BenchmarkHugeBodies(b *testing.B) {
	for _, piece := range pieces {
		body := []byte(strings.Repeat(piece, 64<<10/len(piece)))
		b.Run(strconv.Quote(piece), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				classify.FromResponse(429, nil, body, start)
			}
		})
	}
}
