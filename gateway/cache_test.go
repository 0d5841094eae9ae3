package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

const sessionID = "X-Claude-Code-Session-Id"

// cachedPrompt is a request whose prompt is to be cached.
var cachedPrompt = `{"model":"claude-sonnet","max_tokens":64,"stream":true,"messages":[{"role":"user","content":[` +
	`{"type":"text","text":"` + strings.Repeat("word ", 4000) + `","cache_control":{"type":"ephemeral"}}]}]}`

// failingFrom is a provider that fails from one moment to another.
func failingFrom(from, to time.Duration) simulator.Script {
	return simulator.Script{Outages: []simulator.Outage{{From: from, To: to}}}
}

func TestCache_TryComesBeforeItEnds(t *testing.T) {
	for _, tt := range []struct {
		name, session string
		body          string
		want          time.Duration // since the beginning
	}{
		{"cached", "s1", cachedPrompt, 290 * time.Second},
		{"of no session", "", cachedPrompt, 465 * time.Second},
		{"not cached", "s1", claude, 465 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), failingFrom(30*time.Second, 200*time.Second))
			ask := func() {
				if resp, text, err := w.get(messages, tt.body, sessionID, tt.session); err != nil || resp.StatusCode != 200 {
					t.Errorf("%s: %d %v %.100s, want an answer", tt.name, resp.StatusCode, err, text)
				}
			}
			ask()
			time.Sleep(time.Until(w.begun.Add(time.Minute)))
			ask()
			if took := time.Since(w.begun); took < tt.want || took > tt.want+time.Second {
				t.Errorf("%s: answered after %v, want %v", tt.name, took, tt.want)
			}
			if n := len(w.provider.Requests()); n != 7 {
				t.Errorf("%s: %d requests, want the policy's 7", tt.name, n)
			}
		})
	}
}

func TestCache_IsShownWithItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), failingFrom(30*time.Second, time.Hour))
		_, _, _ = w.get(messages, cachedPrompt, sessionID, "s1")
		time.Sleep(time.Minute)
		resp, err := w.ask(t.Context(), messages, cachedPrompt, sessionID, "s1")
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		defer resp.Body.Close()
		go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
		time.Sleep(2 * time.Minute)
		ends := w.begun.Add(5 * time.Minute)
		waits := w.gateway.Waits()
		if len(waits) != 1 || !waits[0].Cache.Until.Equal(ends) || waits[0].Cache.Tokens < 1000 || !waits[0].Due.Equal(ends.Add(-10*time.Second)) {
			t.Fatalf("waits %+v, want one until 10s before the cache of some thousand tokens ends at %v", waits, ends)
		}
		for _, e := range w.events {
			if r, ok := e.(turn.Retry); !ok || r.Cache != waits[0].Cache {
				t.Errorf("event %+v, want a retry with %+v", e, waits[0].Cache)
			}
		}
	})
}

// Many sessions that wait do not ask more often because their caches end, and none of them is lost.
func TestCache_NoStormBeforeTheEnd(t *testing.T) {
	const sessions = 60
	count := func(body string) (refused int) {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), failingFrom(30*time.Second, time.Hour))
			for _, from := range []time.Duration{0, time.Minute} {
				time.Sleep(time.Until(w.begun.Add(from)))
				done := make(chan struct{})
				for i := range sessions {
					go func() {
						resp, text, err := w.get(messages, body, sessionID, fmt.Sprint("s", i))
						if err != nil || resp.StatusCode != 200 || strings.Contains(text, `"error"`) { // a stream that has waited ends with it
							t.Errorf("session %d: %v %v %.200s, want an answer", i, resp.StatusCode, err, text[max(0, len(text)-200):])
						}
						done <- struct{}{}
					}()
					time.Sleep(100 * time.Millisecond)
				}
				for range sessions {
					<-done
				}
			}
			refused = strings.Count(w.outcomes(), "529")
		})
		return refused
	}
	if with, without := count(cachedPrompt), count(claude); with > without+without/20 {
		t.Errorf("%d refused with caches, %d without, want no more", with, without)
	}
}

func TestCache_LifetimeIsTheProviders(t *testing.T) {
	anthropic := func(usage string) string {
		return `{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":9,` + usage + `"output_tokens":5}}`
	}
	openai := func(tokens int) string {
		return fmt.Sprintf(`{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":5}}`, tokens)
	}
	split := func(short, long int) string {
		return fmt.Sprintf(`"cache_creation_input_tokens":%d,"cache_read_input_tokens":50,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},`, short+long, short, long)
	}
	read := `"cache_creation_input_tokens":0,"cache_read_input_tokens":150,`
	for _, tt := range []struct {
		name, api, host string
		answers         []string
		lasts           time.Duration // 0: no cache is known
		tokens          int64
	}{
		{"five minutes", "anthropic", "a.test", []string{anthropic(split(100, 0))}, 5 * time.Minute, 150},
		{"an hour", "anthropic", "a.test", []string{anthropic(split(0, 100))}, time.Hour, 150},
		{"both: the shorter one", "anthropic", "a.test", []string{anthropic(split(60, 40))}, 5 * time.Minute, 150},
		{"not stated", "anthropic", "a.test", []string{anthropic(read)}, 5 * time.Minute, 150},
		{"only read, after an hour was stated", "anthropic", "a.test", []string{anthropic(split(0, 100)), anthropic(read)}, time.Hour, 150},
		{"nothing cached", "anthropic", "a.test", []string{anthropic("")}, 0, 0},
		{"OpenAI", "openai", "api.openai.com", []string{openai(2000)}, 30 * time.Minute, 2000},
		{"OpenAI, short prompt", "openai", "api.openai.com", []string{openai(1000)}, 0, 0},
		{"another provider of OpenAI's API", "openai", "b.test", []string{openai(2000)}, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			base := roundTrip(func(req *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, req.Body)
				status, body := 529, `{"error":{"message":"busy"}}`
				if n < len(tt.answers) {
					status, body = 200, tt.answers[n]
				}
				n++
				return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
			})
			g := newGateway(t, gateway.Config{Policy: policy.Patient(), Base: base, Upstreams: []gateway.Upstream{{Name: "main", API: tt.api, Base: address(tt.host)}}})
			path := map[string]string{"anthropic": messages, "openai": chat}[tt.api]
			ask := func() {
				defer func() { _ = recover() }() // a cut answer
				req := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(whole(claude)))
				req.Header.Set(sessionID, "s1")
				g.ServeHTTP(&recorder{header: http.Header{}}, req)
			}
			for range tt.answers {
				time.Sleep(time.Second)
				ask()
			}
			used := time.Now()
			go ask()
			time.Sleep(time.Second)
			want := turn.PromptCache{Tokens: tt.tokens}
			if tt.lasts > 0 {
				want.Until = used.Add(tt.lasts)
			}
			waits := g.Waits()
			if len(waits) != 1 || waits[0].Cache.Tokens != want.Tokens || !waits[0].Cache.Until.Equal(want.Until) {
				t.Errorf("%s: waits %+v, want %+v", tt.name, waits, want)
			}
			g.Close()
		})
	}
}

// visits asks for a session at moments, and returns which upstreams have answered.
func (p *pair) visits(t *testing.T, session string, at ...time.Duration) (all string) {
	for _, at := range at {
		time.Sleep(time.Until(p.begun.Add(at)))
		resp, _, err := p.get(messages, cachedPrompt, sessionID, session)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s at %v: %d %v, want an answer", session, at, resp.StatusCode, err)
		}
		by := "first"
		if p.second.Requests() != nil && len(p.second.Requests()) > p.answered {
			p.answered, by = len(p.second.Requests()), "second"
		}
		all += by + " "
	}
	return strings.TrimSpace(all)
}

func TestCache_SessionStaysWhereItsPromptIs(t *testing.T) {
	const s, m = time.Second, time.Minute
	patience := gateway.Fallback{After: 10 * time.Second}
	t.Run("until it pauses", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, failingFrom(0, 2*m), simulator.Script{}, patience)
			if got, want := p.visits(t, "s1", 0, m, 4*m, 8*m, 14*m), "second second second second first"; got != want {
				t.Errorf("answered by %s, want %s", got, want)
			}
		})
	})
	t.Run("without asking the first one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, failingFrom(0, time.Hour), simulator.Script{}, patience)
			_ = p.visits(t, "s1", 0)
			before, began := len(p.first.Requests()), time.Now()
			_ = p.visits(t, "s1", time.Since(p.begun))
			if n := len(p.first.Requests()) - before; n != 0 || time.Since(began) > s {
				t.Errorf("%d requests to the first in %v, want none, and an answer at once", n, time.Since(began))
			}
			if got := p.visits(t, "s2", time.Since(p.begun)); got != "second" || time.Since(began) < 10*s {
				t.Errorf("another session: answered by %s after %v, want the second after its patience", got, time.Since(began))
			}
		})
	})
	t.Run("but for an hour at most", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, failingFrom(0, 2*m), simulator.Script{}, patience)
			var at []time.Duration
			for i := range 17 {
				at = append(at, time.Duration(i)*4*m)
			}
			if got := p.visits(t, "s1", at...); strings.Count(got, "second") != 16 || !strings.HasSuffix(got, "first") {
				t.Errorf("answered by %s, want the first after an hour", got)
			}
		})
	})
	t.Run("for another hour if the first one fails still", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, failingFrom(0, 90*m), simulator.Script{}, patience)
			var at []time.Duration
			for i := range 18 {
				at = append(at, time.Duration(i)*4*m)
			}
			_ = p.visits(t, "s1", at...)
			if took := time.Since(p.begun) - at[17]; took > s {
				t.Errorf("the second call after an hour took %v, want an answer at once", took)
			}
		})
	})
	t.Run("unless the first is back and has it too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, failingFrom(10*s, m), simulator.Script{}, patience)
			got := p.visits(t, "s1", 0, 20*s, 70*s) + " " + p.visits(t, "s2", 80*s) + " " + p.visits(t, "s1", 90*s)
			if want := "first second second first first"; got != want {
				t.Errorf("answered by %s, want %s", got, want)
			}
		})
	})
	t.Run("not where another model is asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := patience
			f.Model = "claude-haiku"
			p := newPair(t, failingFrom(0, 2*m), simulator.Script{}, f)
			if got, want := p.visits(t, "s1", 0, 3*m), "second first"; got != want {
				t.Errorf("answered by %s, want %s", got, want)
			}
		})
	})
	t.Run("and goes on to the first one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, failingFrom(0, m), failingFrom(70*s, time.Hour), patience)
			got := p.visits(t, "s1", 0, 80*s)
			if want := "second first"; !strings.HasPrefix(got, "second") || len(p.first.Requests()) < 2 || time.Since(p.begun) > 95*s {
				t.Errorf("answered by %s after %v, want %s within its patience", got, time.Since(p.begun), want)
			}
		})
	})
}

func TestCache_FewAreKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("sends eleven hundred requests, one after the other")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{})
		for i := range 1100 {
			_, _, _ = w.get(messages, cachedPrompt, sessionID, fmt.Sprint("s", i))
		}
		if n := w.gateway.Caches(); n != 1024 {
			t.Errorf("%d caches are known, want 1024", n)
		}
	})
}
