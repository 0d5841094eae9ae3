package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// completing is a gateway before a simulated provider, and its events.
type completing struct {
	*gateway.Gateway
	provider *simulator.Provider

	mu        sync.Mutex
	retries   int
	completed []gateway.Completed
	failures  []turn.Error
}

// newCompleting returns one whose upstreams complete answers in a mode.
func newCompleting(t *testing.T, mode gateway.CompleteMode, p policy.Policy, script simulator.Script) *completing {
	c := &completing{provider: simulator.New(script)}
	t.Cleanup(func() { _ = c.provider.Close() })
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Complete = mode
	}
	c.Gateway = newGateway(t, gateway.Config{Upstreams: upstreams, Policy: p, Base: c.provider.Transport(), OnEvent: c.watch})
	return c
}

// watch counts what is to be seen.
func (c *completing) watch(e gateway.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Completed != (gateway.Completed{}) {
		c.completed = append(c.completed, e.Completed)
	}
	switch event := e.Event.(type) {
	case turn.Retry:
		c.retries++
	case turn.Error:
		c.failures = append(c.failures, event)
	}
}

// A break may be followed by hours: the client is kept alive in the middle of its answer, the wait is seen as any
// other, and what comes in the end is one answer with what was sent before.
func TestComplete_OutageOfTwoHoursAfterABreak(t *testing.T) {
	const first, second = `think:"Let me see."+say:"Hello there."+cut:2`, `think:"Once more."+say:"Good day."+call:read{"file":"main.go"}`
	for _, api := range streamed {
		want := wanted(t, api.path, api.body, second)
		synctest.Test(t, func(t *testing.T) {
			script := simulator.Script{
				Replies: replies(t, first+", "+second),
				Outages: []simulator.Outage{{From: time.Second, To: 2 * time.Hour}},
			}
			g := newCompleting(t, "", policy.Patient(), script)
			shown := time.AfterFunc(time.Hour, func() {
				if waits := g.Waits(); len(waits) != 1 || !waits[0].Held || !waits[0].AfterContent || waits[0].Fault == nil {
					t.Errorf("%s: after an hour the waits are %+v, want one that is kept alive, after content", api.path, waits)
				}
			})
			defer shown.Stop()
			begun := time.Now()
			w := serve(g.Gateway, api.path, api.body, "ai-sdk/anthropic/3.0")
			took := time.Since(begun)
			got, err := decode(api.path, w.String())
			if err != nil || got.failed || keptOf(got) != keptOf(want) {
				t.Errorf("%s: decoded %+v, error %v, want %q\n%s", api.path, got, err, want.kept, w)
			}
			if took < 2*time.Hour || took > 151*time.Minute || w.gap > 11*time.Second {
				t.Errorf("%s: took %v with gaps of %v, want about two hours and 10 s", api.path, took, w.gap)
			}
			if len(g.completed) != 1 || g.completed[0].Again != 1 || g.retries < 10 || len(g.failures) > 0 {
				t.Errorf("%s: completed %+v, %d retries, failures %v", api.path, g.completed, g.retries, g.failures)
			}
			if n, sent := w.header[http.TrailerPrefix+"X-Ridethrough-Continued"]; sent {
				t.Errorf("%s: the trailer is %q for a client that has not asked for trailers, want none", api.path, n)
			}
		})
	}
}

func TestComplete_TrailerIsForClientsThatAskForTrailers(t *testing.T) {
	const broken, comment = `think:"Let me see."+say:"Hello there."+cut:2`, "asked for again (1), as the answer had broken off"
	for te, want := range map[string]string{"": "", "gzip": "", "trailers": "1", "gzip;q=0.5, Trailers": "1"} {
		synctest.Test(t, func(t *testing.T) {
			g := newCompleting(t, "", policy.Patient(), simulator.Script{Replies: replies(t, broken+`, say:"Good day."`)})
			req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(gpt))
			if te != "" {
				req.Header.Set("Te", te)
			}
			w := &received{header: http.Header{}, last: time.Now()}
			g.ServeHTTP(w, req)
			if got := w.header.Get(http.TrailerPrefix + "X-Ridethrough-Continued"); got != want || !strings.Contains(w.String(), comment) {
				t.Errorf("TE %q: got trailer %q, want %q, and the comment %q in\n%s", te, got, want, comment, w)
			}
		})
	}
}

// wanted returns what a client decodes of a whole answer.
func wanted(t *testing.T, path, body, words string) decoded {
	t.Helper()
	stream, _ := record(t, path, body, words)
	d, err := decode(path, stream)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return d
}

// keptOf returns what is kept of an answer, without the numbers and signatures of the request that the provider has answered.
func keptOf(d decoded) string {
	return numbers.ReplaceAllString(strings.Join(d.kept, "\n"), "")
}

var numbers = regexp.MustCompile(`0000\d\d|c2lnbmF0dXJlIG9mIDAwMDA[0-9A-Za-z=]*`)

// At the end of patience the answer ends with the API's own error, as one that is cut does.
func TestComplete_GivenUpEndsWithAnError(t *testing.T) {
	short := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}
	for _, api := range streamed {
		synctest.Test(t, func(t *testing.T) {
			script := simulator.Script{Replies: replies(t, `think:"Let me see."+say:"Hello there."+cut:2`), Outages: []simulator.Outage{{From: time.Second}}}
			g := newCompleting(t, "", short, script)
			w := serve(g.Gateway, api.path, api.body, "ai-sdk/anthropic/3.0")
			if got, err := decode(api.path, w.String()); err != nil || !got.failed || strings.Join(got.kept, "") != "" {
				t.Errorf("%s: decoded %+v, error %v, want a failed answer without content", api.path, got, err)
			}
			if len(g.failures) != 1 || g.failures[0].Stop != policy.Exhausted || len(g.completed) > 0 {
				t.Errorf("%s: failures %+v, completed %v", api.path, g.failures, g.completed)
			}
		})
	}
}

// Nothing is withheld, and nothing asked for again, where that is off.
func TestComplete_Off(t *testing.T) {
	for _, api := range streamed {
		synctest.Test(t, func(t *testing.T) {
			g := newCompleting(t, gateway.CompleteOff, policy.Patient(), simulator.Script{Replies: replies(t, `think:"Let me see."+call:list{"path":"a b"}+cut:3`)})
			w := serve(g.Gateway, api.path, api.body, "")
			if got, err := decode(api.path, w.String()); err != nil || !got.failed {
				t.Errorf("%s: decoded %+v, error %v, want a failed answer", api.path, got, err)
			}
			if n := len(g.provider.Requests()); n != 1 {
				t.Errorf("%s: %d requests, want 1", api.path, n)
			}
		})
	}
}

// A client that leaves in the wait ends it, and nothing of the call is left.
func TestComplete_ClientLeavesInTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newCompleting(t, "", policy.Patient(), simulator.Script{
			Replies: replies(t, `call:list{"path":"a b"}+cut:1`), Outages: []simulator.Outage{{From: time.Second}},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		serveUntil(ctx, g.Gateway, "/v1/messages", claude, "")
		synctest.Wait()
		if shared, waits, memory, disk := g.Left(); shared != 0 || waits != 0 || memory != 0 || disk != 0 {
			t.Errorf("%d shared requests, %d waits, %d and %d bytes are left", shared, waits, memory, disk)
		}
		if len(g.failures) != 1 || !g.failures[0].Left() {
			t.Errorf("failures %+v, want that the client has left", g.failures)
		}
	})
}

const story = `"The old lighthouse keeper climbed the spiral stairs each evening, lit the great lamp, and watched the ships go by until the morning came."`

// A text that breaks off is continued where the route asks for it, and ends with an error where the model does not go
// on for certain. No character is lost or doubled.
func TestComplete_Text(t *testing.T) {
	whole := strings.Trim(story, `"`)
	for _, api := range streamed {
		if api.path == "/v2/chat" || api.path == "/api/v1/chat" {
			continue // nothing there continues a text
		}
		for _, way := range []string{"exact", "paraphrase"} {
			for _, cut := range []string{"cut:14", "cut:14:clean", "cut:14:error"} {
				synctest.Test(t, func(t *testing.T) {
					words := "say:" + story + "+" + cut + ", say:" + story + "+continue:" + way
					g := newCompleting(t, gateway.CompleteText, policy.Patient(), simulator.Script{Replies: replies(t, words)})
					w := serve(g.Gateway, api.path, api.body, "")
					got, err := decode(api.path, w.String())
					text := strings.TrimPrefix(strings.Join(got.kept, ""), "text ")
					switch {
					case err != nil:
						t.Errorf("%s, %s, %s: %v\n%s", api.path, way, cut, err, w)
					case way == "exact" && (got.failed || text != whole || len(g.completed) != 1 || !g.completed[0].Text):
						t.Errorf("%s, %s: decoded %q, failed %v, completed %+v\n%s", api.path, cut, text, got.failed, g.completed, w)
					case way == "paraphrase" && (!got.failed || text == "" || !strings.HasPrefix(whole, text) || len(g.completed) != 1 || !g.completed[0].Unjoined):
						t.Errorf("%s, %s: decoded %q, failed %v, completed %+v, want its beginning and an error\n%s", api.path, cut, text, got.failed, g.completed, w)
					}
					synctest.Wait() // the connections to the provider let the body go
					if shared, waits, memory, _ := g.Left(); shared != 0 || waits != 0 || memory != 0 {
						t.Errorf("%s: %d shared requests, %d waits and %d bytes are left", api.path, shared, waits, memory)
					}
				})
			}
		}
	}
}

// Claude Code's requests end with a system message after the user's.
func TestComplete_TextBehindAMessageOfTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := "say:" + story + "+cut:14, say:" + story
		g := newCompleting(t, gateway.CompleteText, policy.Patient(), simulator.Script{Replies: replies(t, words)})
		body := strings.Replace(claude, `}]`, `},{"role":"system","content":"Today is Sunday."}]`, 1)
		got, err := decode("/v1/messages", serve(g.Gateway, "/v1/messages", body, "").String())
		if want := "text " + strings.Trim(story, `"`); err != nil || got.failed || strings.Join(got.kept, "") != want {
			t.Errorf("decoded %q, failed %v, error %v, want %q", got.kept, got.failed, err, want)
		}
	})
}

// What an answer cost besides those of one that does not break off is counted: the prompt that was sent again, where
// the broken answer has said nothing, and what was repeated of a text.
func TestCompleted_TokensBilledTwice(t *testing.T) {
	stated := strings.Replace(gpt, "{", `{"stream_options":{"include_usage":true},`, 1)
	for _, row := range []struct {
		path, body, words string
		again             int // the request whose prompt is billed twice
		more              int // tokens besides that at least
	}{
		{"/v1/chat/completions", stated, `think:"Let me see."+cut:1, say:Hello`, 0, 0},
		{"/v1/responses", `{"reasoning":{"summary":"auto"},` + codex[1:], `think:"Let me see."+cut:1, say:Hello`, 0, 0},
		{"/v1/chat/completions", stated, "say:" + story + "+cut:14, say:" + story + "+continue:exact", 1, 5},
		{"/v1/messages", claude, "say:" + story + "+cut:14, say:" + story + "+continue:exact", 1, 5},
		{"/v1/messages", claude, "say:" + story + "+cut:14, say:" + story + "+continue:paraphrase", 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newCompleting(t, gateway.CompleteText, policy.Patient(), simulator.Script{Replies: replies(t, row.words)})
			w := serve(g.Gateway, row.path, row.body, "")
			all := g.provider.Requests()
			if len(all) != 2 || len(g.completed) != 1 {
				t.Fatalf("%s: %d requests, completed %+v, want 2 and one\n%s", row.path, len(all), g.completed, w)
			}
			prompt := 1 + len(all[row.again].Body)/4
			if got := g.completed[0].Discarded; got < prompt+row.more || got > prompt+200 {
				t.Errorf("%s, %s: %d tokens were billed twice, want the %d of the prompt and %d more", row.path, row.words, got, prompt, row.more)
			}
		})
	}
}

// A keepalive in the middle of Gemini's answer has the answer's line ends, and is an event for the libraries that lose
// a stream at a blank line.
func TestComplete_GeminisPingHasTheStreamsLineEnds(t *testing.T) {
	const thought, said = `data: {"candidates":[{"content":{"parts":[{"text":"Let me see.","thought":true}]}}]}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}`
	for _, end := range []string{"\n\n", "\r\n\r\n"} {
		for library, event := range map[string]string{"genai-js/0.24.1": "data: {}", "google-genai-sdk/3.3.0 gl-node/v22": "", "": ""} {
			synctest.Test(t, func(t *testing.T) {
				script := []roundTrip{streams(thought + end), says(503, `{}`), says(503, `{}`), streams(said + end)}
				asked := 0
				w := newHarnessOf(t, policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{15 * time.Second}}}, roundTrip(func(req *http.Request) (*http.Response, error) {
					asked++
					return script[asked-1](req)
				}))
				_, text, err := w.get("/v1beta/models/gemini-3:streamGenerateContent?alt=sse", gemini, "X-Goog-Api-Client", library)
				pings, ok := strings.CutPrefix(text, thought+end)
				pings, ends := strings.CutSuffix(pings, said+end)
				if ping := event + end; err != nil || !ok || !ends || pings != strings.Repeat(ping, len(pings)/len(ping)) || len(pings) < 4*len(ping) {
					t.Errorf("%q, lines end with %q: %q, error %v; want %q every 10 s of 45 between the two parts", library, end, text, err, ping)
				}
			})
		}
	}
}
