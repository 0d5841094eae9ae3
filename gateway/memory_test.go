package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// leaning are requests that lean on the memory of their server, by the member that says so.
var leaning = []struct{ api, path, body, member string }{
	{"anthropic", "/v1/messages", claude, `"thread":{"type":"continue","previous_message_id":"msg_1"}`},
	{"openai", "/v1/responses", codex, `"previous_response_id":"resp_1"`},
	{"openai", "/v1/responses", codex, `"conversation":"conv_1"`},
	{"openai", "/v1/responses", codex, `"conversation":{"id":"conv_1"}`},
	{"gemini", "/v1beta/interactions", `{"model":"gemini-3","input":"Hi","stream":true}`, `"previous_interaction_id":"v1_a"`},
	{"lmstudio", "/api/v1/chat", studio, `"previous_response_id":"resp_1"`},
}

// withMember returns a request with a member more, at its beginning or its end.
func withMember(body, member string, last bool) string {
	if last {
		return strings.TrimSuffix(body, "}") + "," + member + "}"
	}
	return "{" + member + "," + body[1:]
}

func TestFailover_MemoryOfAServerIsAskedOfNoOther(t *testing.T) {
	three := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}}
	for _, tt := range leaning {
		for body, fallbacks := range map[string]int{
			tt.body:                                  1,
			withMember(tt.body, tt.member, false):    0,
			withMember(tt.body, tt.member, true):     0,
			withMember(tt.body, `"thread":{}`, true): 1, // which starts one, or is unknown
		} {
			synctest.Test(t, func(t *testing.T) {
				asked := map[string]int{}
				w := newHarnessWith(t, gateway.Config{
					Upstreams: []gateway.Upstream{
						{Name: "one", API: tt.api, Base: address("one.test"), Fallback: []gateway.Fallback{{To: "two"}}},
						{Name: "two", API: tt.api, Base: address("two.test"), Key: func() (string, error) { return "key", nil }},
					},
					Policy: three,
					Base: roundTrip(func(req *http.Request) (*http.Response, error) {
						asked[req.URL.Host]++
						return says(503, `{"error":{"message":"down"}}`)(req)
					}),
				})
				_, text, _ := w.get(tt.path, body)
				if asked["one.test"] != 3 || (asked["two.test"] > 0) != (fallbacks > 0) {
					t.Errorf("%s: asked %v, want one.test three times and two.test only for %d; got %q", body, asked, fallbacks, text)
				}
			})
		}
	}
}

// The client has the id of the answer that broke off. The server would keep what completes it under another one.
func TestComplete_AnswerOfAMemoryIsNotMadeOfTwo(t *testing.T) {
	bodies := map[string]string{
		"anthropic": thinks(claude), "openai": `{"store":false,"reasoning":{"summary":"auto"},` + codex[1:], "lmstudio": studio,
	}
	for _, tt := range leaning {
		if tt.api == "gemini" {
			continue // whose answers are not completed
		}
		for _, words := range []string{
			`think:"Let me see."+cut:1, say:Hello`, `call:list{"path":"a b"}+cut:1, say:Hello`, `say:` + story + `+cut:14, say:` + story + `+continue:exact`,
		} {
			if tt.api == "lmstudio" && strings.HasPrefix(words, "call") {
				continue // which breaks off there before its first content
			}
			synctest.Test(t, func(t *testing.T) {
				for _, leans := range []bool{false, true} {
					g := newCompleting(t, gateway.CompleteText, policy.Patient(), simulator.Script{Replies: replies(t, words)})
					body := bodies[tt.api]
					if leans {
						body = withMember(body, tt.member, true)
					}
					got, err := decode(tt.path, serve(g.Gateway, tt.path, body, "ai-sdk/anthropic/3.0").String())
					stays := leans || tt.api == "lmstudio" && strings.HasPrefix(words, "say") // nothing there continues a text
					want := 2
					if stays {
						want = 1
					}
					if n := len(g.provider.Requests()); err != nil || got.failed != stays || n != want || len(g.completed) != want-1 {
						t.Errorf("%s, %s: %d requests, failed %v, completed %v, error %v; want %d requests", body, words, n, got.failed, g.completed, err, want)
					}
				}
			})
		}
	}
}

// What comes before the first content of an answer is repeated as for any request.
func TestRetry_MemoryOfAServerIsRetriedBeforeTheAnswer(t *testing.T) {
	for _, tt := range leaning {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Outages: []simulator.Outage{{To: 8 * time.Second}}})
			if tt.api == "gemini" {
				w = newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
					if time.Since(w.begun) < 8*time.Second {
						return says(503, `{}`)(req)
					}
					return streams(interaction)(req)
				}))
			}
			resp, text, err := w.get(tt.path, withMember(tt.body, tt.member, true))
			if err != nil || resp.StatusCode != 200 || strings.Contains(text, `"error":{`) {
				t.Errorf("%s: status %d, %q, error %v; want an answer after 8 s", tt.member, resp.StatusCode, text, err)
			}
		})
	}
}
