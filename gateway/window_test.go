package gateway_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// untilReset is a policy that waits for one usage window of five hours at most.
func untilReset(p policy.Policy) policy.Policy {
	p.Quota = policy.Quota{Wait: policy.QuotaUntilReset, Windows: 1, Max: 5 * time.Hour}
	return p
}

// spentFor is a provider whose window is spent.
func spentFor(d time.Duration) simulator.Script {
	return simulator.Script{Replies: []simulator.Reply{simulator.SpentWindow{For: d}}}
}

func TestWindow_CallsAreAnsweredAfterTheReset(t *testing.T) {
	forms := []struct{ path, body string }{
		{"/v1/messages", claude},
		{"/v1/chat/completions", gpt},
		{"/v1/responses", strings.Replace(gpt, "messages", "input", 1)},
		{"/v1beta/models/gemini-3:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"Hi"}]}]}`},
		{"/api/chat", strings.Replace(gpt, "gpt-5", "qwen", 1)},
	}
	for _, form := range forms[:rounds(len(forms))] {
		for _, p := range []policy.Policy{policy.Patient(), policy.Simple()} {
			synctest.Test(t, func(t *testing.T) {
				const length, calls = 5*time.Hour - 20*time.Minute, 20
				w := newHarness(t, untilReset(p), spentFor(length))
				var ended sync.WaitGroup
				var last atomic.Int64
				for range calls {
					ended.Go(func() {
						resp, text, err := w.get(form.path, form.body)
						last.Store(int64(time.Since(w.begun))) // they end one after the other
						if err != nil || resp.StatusCode != 200 || !strings.Contains(text, "say.") {
							t.Errorf("%s: %d %v %.200s, want the answer", form.path, resp.StatusCode, err, text)
						}
					})
					time.Sleep(time.Second)
				}
				ended.Wait()
				refused := 0
				for _, r := range w.provider.Requests() {
					if strings.HasPrefix(r.Outcome, "window") {
						refused++
					}
				}
				if late := time.Duration(last.Load()) - length; late < 0 || late > 30*time.Second || refused > 20 {
					t.Errorf("%s: the last is answered %v after the reset with %d refusals, want at most 30s and one a quarter of an hour", form.path, late, refused)
				}
				if n := len(w.provider.Requests()) - refused; n != calls {
					t.Errorf("%s: %d requests answered, want one for each of %d calls", form.path, n, calls)
				}
			})
		}
	}
}

func TestWindow_IsShownWithTheProvidersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, untilReset(policy.Patient()), spentFor(3*time.Hour))
		resp, err := w.ask(t.Context(), "/v1/chat/completions", gpt)
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		defer resp.Body.Close()
		synctest.Wait()
		opens := w.begun.Add(3 * time.Hour)
		waits := w.gateway.Waits()
		if len(waits) != 1 || !waits[0].Due.Equal(opens) || !waits[0].Verdict.Window || !waits[0].Fault.ResetAt.Equal(opens) || waits[0].Run.Slept != 0 {
			t.Fatalf("waits %+v, want one until %v, outside of the budget", waits, opens)
		}
		begin := make([]byte, 200)
		n, _ := io.ReadAtLeast(resp.Body, begin, 60)
		if got := string(begin[:n]); !strings.Contains(got, "the usage window opens again at "+opens.Local().Format("15:04")+", in 3h") {
			t.Errorf("keepalive %q, want the time of the reset", got)
		}
		told := w.events[0].(turn.Retry)
		if !told.Verdict.Window || told.Fault.OpensAgain(w.begun) == "" || !told.Deadline.After(opens.Add(7*time.Hour)) {
			t.Errorf("event %+v, want the window, and the policy's own budget behind it", told)
		}
		w.gateway.Act(waits[0].ID, gateway.GiveUp)
		rest, _ := io.ReadAll(resp.Body)
		if !strings.Contains(string(rest), "given up by command after 0 retries") || !strings.Contains(string(rest), "opens again at") {
			t.Errorf("given up: %s, want the words for it and the reset", rest)
		}
	})
}

func TestWindow_LongerOneEndsAtOnceAndSaysWhenItOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, untilReset(policy.Patient()), spentFor(72*time.Hour))
		resp, text, err := w.get("/v1/messages", claude, "User-Agent", "opencode/1.0")
		opens := w.begun.Add(72 * time.Hour)
		want := "the usage window opens again at " + opens.Local().Format("15:04 on Jan 2") + ", in 72h"
		if err != nil || time.Since(w.begun) > time.Second || !strings.Contains(text, want) {
			t.Errorf("%d %v after %v: %s, want %q at once", resp.StatusCode, err, time.Since(w.begun), text, want)
		}
		time.Sleep(time.Second)
		resp, text, _ = w.get("/v1/messages", claude)
		if at := resp.Header.Get("X-Ridethrough-Opens-At"); at != opens.UTC().Format(time.RFC3339) || !strings.Contains(text, "rate_limit_error") {
			t.Errorf("header %q with %s, want %v beside the provider's own error", at, text, opens)
		}
		if e := w.events[0].(turn.Error); e.Stop != policy.RetryAfterTooLong {
			t.Errorf("stop %q, want that the wait is too long", e.Stop)
		}
	})
}

func TestWindow_RetryNowCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := untilReset(policy.Policy{Retries: 1})
		w := newHarness(t, p, spentFor(time.Hour))
		answered := make(chan string)
		go func() { _, text, _ := w.get("/v1/messages", claude); answered <- text }()
		for n := range 3 {
			time.Sleep(time.Minute)
			id := w.gateway.Waits()[0].ID
			w.gateway.Act(id, gateway.RetryNow)
			synctest.Wait()
			waits := w.gateway.Waits()
			if len(waits) != 1 || waits[0].Run.Tries != 1 || len(w.provider.Requests()) != n+2 || waits[0].State != "waiting" {
				t.Fatalf("after %d commands: waits %+v, %d requests; want one wait as before", n+1, waits, len(w.provider.Requests()))
			}
		}
		if text := <-answered; !strings.Contains(text, "say.") || time.Since(w.begun) < time.Hour {
			t.Errorf("%s after %v, want the answer after the reset", text, time.Since(w.begun))
		}
	})
}

func TestWindow_SkipGoesOnAtTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := simulator.New(spentFor(time.Hour)), simulator.New(simulator.Script{})
		t.Cleanup(func() { _, _ = first.Close(), second.Close() })
		up := func(name string) gateway.Upstream {
			return gateway.Upstream{Name: name, API: "anthropic", Base: address(name + ".test"), Limits: &gateway.Limits{}, NoKey: true}
		}
		one, base := up("first"), hosts{"first.test": first.Transport(), "second.test": second.Transport()}
		one.Fallback = []gateway.Fallback{{To: "second"}}
		w := newHarnessWith(t, gateway.Config{Policy: untilReset(policy.Patient()), Base: base, Upstreams: []gateway.Upstream{one, up("second")}})
		answered := make(chan string)
		go func() { _, text, _ := w.get("/v1/messages", claude); answered <- text }()
		time.Sleep(time.Minute)
		waits := w.gateway.Waits()
		if len(waits) != 1 || waits[0].Next != "second" || !w.gateway.Act(waits[0].ID, gateway.Skip) {
			t.Fatalf("waits %+v, want one that can go on at second", waits)
		}
		text := <-answered
		if took := time.Since(w.begun); !strings.Contains(text, "say.") || took > time.Minute+time.Second || len(second.Requests()) != 1 {
			t.Errorf("%s after %v with %d requests to second, want its answer at once", text, took, len(second.Requests()))
		}
		if !slices.ContainsFunc(w.events, func(e turn.Event) bool { s, ok := e.(turn.Switched); return ok && s.To == "second" }) {
			t.Errorf("events %+v, want the switch", w.events)
		}
	})
}

func TestWindow_SkipWithoutAFallbackIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, untilReset(policy.Patient()), spentFor(time.Hour))
		answered := make(chan struct{})
		go func() { defer close(answered); w.get("/v1/messages", claude) }()
		time.Sleep(time.Minute)
		waits := w.gateway.Waits()
		if len(waits) != 1 || waits[0].Next != "" || w.gateway.Act(waits[0].ID, gateway.Skip) {
			t.Errorf("waits %+v, want one without a fallback", waits)
		}
		<-answered
	})
}

// A client that leaves in the wait and comes back resumes it: the provider is asked no more.
func TestWindow_ClientThatComesBackGoesOnInTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, untilReset(policy.Simple()), spentFor(10*time.Minute))
		for range 8 {
			w.leaveAfter(time.Minute, "/v1/messages", claude)
			time.Sleep(time.Second)
		}
		if n := len(w.provider.Requests()); n != 1 {
			t.Errorf("%d requests in %v, want 1", n, time.Since(w.begun))
		}
		_, text, err := w.get("/v1/messages", claude)
		if took := time.Since(w.begun); err != nil || !strings.Contains(text, "say.") || took < 10*time.Minute || took > 10*time.Minute+time.Second {
			t.Errorf("%v after %v: %s, want the answer at the reset", err, took, text)
		}
		if last := w.all[len(w.all)-1].Event.(turn.Sealed); last.TotalRetryDelay < 9*time.Minute || last.TotalRetryDelay > 10*time.Minute {
			t.Errorf("told that it has waited %v, want the clock's 10m but for the seconds away", last.TotalRetryDelay)
		}
	})
}

// A header that is wrong stops no call for longer than a quarter of an hour.
func TestWindow_WrongHeadersDoNotStopTraffic(t *testing.T) {
	for name, header := range map[string]http.Header{
		"0":             {"Anthropic-Ratelimit-Unified-Reset": {"0"}},
		"negative":      {"Anthropic-Ratelimit-Unified-Reset": {"-100"}},
		"missing":       {},
		"absurd":        {"Anthropic-Ratelimit-Unified-Reset": {"99999999999"}, "Retry-After": {"999999999"}},
		"hours too far": {"Retry-After": {"17000"}},
		"contradiction": {"Retry-After": {"17000"}, "Anthropic-Ratelimit-Unified-Reset": {"946684860"}},
		"clock skew":    {"Date": {"Sat, 01 Jan 2000 08:00:00 GMT"}, "Anthropic-Ratelimit-Unified-Reset": {"946713660"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			header = header.Clone()
			header.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
			w := newHarness(t, untilReset(policy.Patient()), simulator.Script{Replies: []simulator.Reply{simulator.Status{Code: 429, Header: header}}})
			resp, _, _ := w.get("/v1/messages", claude)
			first := time.Since(w.begun)
			for resp.StatusCode != 200 && time.Since(w.begun) < time.Hour {
				time.Sleep(5 * time.Second)
				resp, _, _ = w.get("/v1/messages", claude)
			}
			if took := time.Since(w.begun); took > 15*time.Minute+5*time.Second {
				t.Errorf("%s: the first answer after %v, and traffic again after %v; want at most a quarter of an hour", name, first, took)
			}
		})
	}
}

// An account without credit and a spend cap do not open by themselves.
func TestWindow_EmptyAccountEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, untilReset(policy.Patient()), simulator.Script{Replies: replies(t, "quota")})
		w.get("/v1/chat/completions", gpt)
		if e := w.failure(); e.Stop != policy.Final || e.Kind != fault.Quota.String() || time.Since(w.begun) > time.Second {
			t.Errorf("%+v after %v, want the end at once", e, time.Since(w.begun))
		}
	})
}
