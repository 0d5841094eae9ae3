package transport_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// script answers one request after the other, and keeps their bodies.
type script struct {
	answers []string // of events; one that begins with 4 is a status
	asked   []string
}

// RoundTrip implements http.RoundTripper.
func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	_ = req.Body.Close()
	answer := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, string(body))
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req}
	if status, found := map[string]int{"400": 400, "404": 404}[answer]; found {
		resp.StatusCode, resp.Header, answer = status, http.Header{"Content-Type": {"application/json"}}, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The continuation token is invalid."}}`
	}
	resp.Body = io.NopCloser(strings.NewReader(answer))
	return resp, nil
}

// TestTransport_ResumesAtACheckpoint has answers of Gemini's break off behind a checkpoint.
func TestTransport_ResumesAtACheckpoint(t *testing.T) {
	chunk := func(text, more string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":"` + text + `"}]}` + more + `}]}` + "\n\n"
	}
	const token, end = `,"continuationToken":"t1"`, `,"finishReason":"STOP"`
	const head, tail = "The old lighthouse keeper climbed the spiral stairs ", "each evening, and lit the great lamp."
	asked := chunk(head[10:]+tail, end)
	for _, row := range []struct {
		name    string
		answers []string
		asked   string // t: with the token, ?: for the rest
		whole   bool
	}{
		{"it is resumed", []string{chunk(head, token), chunk(tail, end)}, " t", true},
		{"what was shown behind it comes again", []string{chunk("The old ", token) + chunk(head[8:], ""), chunk(head[8:]+tail, end)}, " t", true},
		{"other words come", []string{chunk("The old ", token) + chunk(head[8:], ""), chunk("lighthouse went dark.", end), asked}, " t?", true},
		{"it ends before that", []string{chunk("The old ", token) + chunk(head[8:], ""), chunk("lighthouse", end), asked}, " t?", true},
		{"the token is invalid", []string{chunk(head, token), "400", asked}, " t?", true},
		{"the token is unknown, and nothing continues the text", []string{chunk(head, token), "404", chunk("No.", end)}, " t?", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: row.answers}
			tr := &transport.Transport{Base: s, Retry: retry.Retrier{Policy: policy.Patient()}, CompleteText: true}
			const path = "http://api.test/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"
			resp, err := (&http.Client{Transport: tr}).Post(path, "application/json", strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"Go"}]}]}`))
			if err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			defer resp.Body.Close()
			all, err := io.ReadAll(resp.Body)
			want := head
			if row.whole {
				want += tail
			}
			if got := saidIn(string(all)); got != want || (err == nil) != row.whole {
				t.Errorf("%s: got %q, error %v; want %q", row.name, got, err, want)
			}
			ways := ""
			for _, body := range s.asked {
				switch {
				case strings.Contains(body, `"continuationToken":"t1"`):
					ways += "t"
				case strings.Contains(body, "was interrupted"):
					ways += "?"
				default:
					ways += " "
				}
			}
			if ways != row.asked {
				t.Errorf("%s: the requests are %q, want %q", row.name, ways, row.asked)
			}
		})
	}
}
