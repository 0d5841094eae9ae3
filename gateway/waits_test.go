package gateway_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

func TestWaits_ListsWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		done := make(chan struct{})
		go func() {
			_, _, _ = w.get("/v1/messages", claude, "User-Agent", "claude-cli/2.1 (x)", "X-Claude-Code-Session-Id", "s-1")
			close(done)
		}()
		time.Sleep(10 * time.Minute)
		all := w.gateway.Waits()
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		got := all[0]
		if got.State != "waiting" || got.Fault.Kind != fault.Overloaded || got.Retries() != 5 || !got.Held || got.Waited != 10*time.Minute {
			t.Errorf("got %+v", got)
		}
		if got.Session != "s-1" || got.Client != "claude-cli/2.1" || got.Model != "claude-sonnet" || got.Upstream != "anthropic" || !got.Stream {
			t.Errorf("call %+v", got.Call)
		}
		if due := got.Due.Sub(w.begun); due != 1005*time.Second || got.Deadline.Before(got.Due) {
			t.Errorf("due after %v, at last %v", due, got.Deadline)
		}
		<-done
		if all := w.gateway.Waits(); len(all) != 0 {
			t.Errorf("%+v still wait", all)
		}
	})
}

// What a request has waited is the clock's time: in a wait, in the try after it, when its client leaves, and
// after the client has come back.
func TestWaits_WaitedIsTheTimeThatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "529*2, silence:1m, 529*9")})
		check := func(when, state string, want time.Duration) {
			t.Helper()
			if got := w.gateway.Waits(); len(got) != 1 || got[0].State != state || got[0].Waited != want {
				t.Errorf("%s: %+v, want one request in the state %s that has waited %v", when, got, state, want)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			if resp, err := w.ask(ctx, messages, claude); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		time.Sleep(10 * time.Second)
		check("in the second wait", "waiting", 10*time.Second)
		time.Sleep(20 * time.Second)
		check("in a silent try", "trying", 15*time.Second)
		leave()
		synctest.Wait()
		if e, ok := w.events[len(w.events)-1].(turn.Error); !ok || !e.Left() || e.Waited != 15*time.Second {
			t.Errorf("when the client left: %+v, want turn.Error after 15 s of waiting", w.events[len(w.events)-1])
		}
		go func() { _, _, _ = w.get(messages, claude) }()
		time.Sleep(20 * time.Second)
		check("sent again, after a third fault", "waiting", 35*time.Second)
		if got := w.gateway.Waits()[0]; got.Retries() != 2 || got.Fault.Kind != fault.Overloaded {
			t.Errorf("sent again: %+v, want the second retry, after a 529", got)
		}
	})
}

func TestAct_Commands(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *harness)
		took time.Duration
		says string
	}{
		{"now", func(w *harness) { w.gateway.Act(1, gateway.RetryNow) }, 80 * time.Minute, "message_stop"},
		{"hold", func(w *harness) {
			w.gateway.Act(1, gateway.Pause)
			time.Sleep(3 * time.Hour)
			w.gateway.Act(1, gateway.Resume)
		}, 260 * time.Minute, "message_stop"},
		{"give up", func(w *harness) { w.gateway.Act(1, gateway.GiveUp) }, 80 * time.Minute, "given up by command"},
		{"now for all", func(w *harness) { w.gateway.ActOn("anthropic", gateway.RetryNow) }, 80 * time.Minute, "message_stop"},
		{"hold all", func(w *harness) {
			w.gateway.ActOn("anthropic", gateway.Pause)
			time.Sleep(3 * time.Hour)
			w.gateway.ActOn("anthropic", gateway.Resume)
		}, 260 * time.Minute, "message_stop"},
		{"give all up", func(w *harness) { w.gateway.ActOn("anthropic", gateway.GiveUp) }, 80 * time.Minute, "given up by command"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(75*time.Minute))
			var all sync.WaitGroup
			all.Go(func() {
				_, text, _ := w.get("/v1/messages", claude)
				if took := time.Since(w.begun); took != tt.took || !strings.Contains(text, tt.says) {
					t.Errorf("%s: %q after %v", tt.name, text[max(0, len(text)-300):], took)
				}
			})
			time.Sleep(80 * time.Minute) // the outage is over, and the next try is due at 91:45
			tt.do(w)
			all.Wait()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{})
		if w.gateway.Act(1, gateway.RetryNow) || w.gateway.ActOn("none", gateway.RetryNow) || w.gateway.ActOn("anthropic", "dance") {
			t.Error("a command that cannot be carried out is taken")
		}
	})
}

// A try that a person asks for costs no attempt: the wait continues unchanged, and says so.
func TestAct_RetryNowCostsNoAttempt(t *testing.T) {
	for name, now := range map[string]func(w *harness){
		"one": func(w *harness) { w.gateway.Act(w.gateway.Waits()[0].ID, gateway.RetryNow) },
		"all": func(w *harness) { w.gateway.ActOn("anthropic", gateway.RetryNow) },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{5 * time.Minute, 20 * time.Minute}}, RetryOn: fault.Transient}
			w := newHarness(t, p, outage(24*time.Minute))
			answered := make(chan string)
			go func() { _, text, _ := w.get("/v1/messages", claude); answered <- text }()
			time.Sleep(time.Minute)
			before, asked := w.gateway.Waits()[0], len(w.provider.Requests())
			for n := range 3 {
				now(w)
				time.Sleep(time.Second)
				waits := w.gateway.Waits()
				if len(waits) != 1 || waits[0].Run.Tries != before.Run.Tries || !waits[0].Due.Equal(before.Due) || waits[0].State != "waiting" || len(w.provider.Requests()) != asked+n+1 {
					t.Errorf("%s: after %d commands: waits %+v and %d requests, want the wait as before and one for each", name, n+1, waits, len(w.provider.Requests())-asked)
				}
			}
			if text := <-answered; !strings.Contains(text, "message_stop") || time.Since(w.begun) != 25*time.Minute {
				t.Errorf("%s: %s after %v, want the answer at the second retry, after 25 min", name, text, time.Since(w.begun))
			}
		})
	}
}

func TestAct_RetryNowKeepsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(7*time.Hour))
		var all sync.WaitGroup
		all.Go(func() {
			if _, text, _ := w.get("/v1/messages", claude); !strings.Contains(text, "message_stop") {
				t.Errorf("%q after %v; want body with \"message_stop\"", text[max(0, len(text)-300):], time.Since(w.begun))
			}
		})
		for range 60 { // more than there are waits of half an hour in the budget
			time.Sleep(7*time.Minute + time.Second)
			one := w.gateway.Waits()
			if len(one) != 1 {
				t.Fatalf("%v wait after %v", one, time.Since(w.begun))
			}
			if end := one[0].Deadline.Sub(w.begun); end <= 7*time.Hour || end > 8*time.Hour+time.Second {
				t.Errorf("after %v it may last until %v", time.Since(w.begun), end)
			}
			w.gateway.Act(one[0].ID, gateway.RetryNow)
		}
		all.Wait()
	})
}

func TestActOn_PauseHoldsNewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{})
		w.gateway.ActOn("anthropic", gateway.Pause)
		time.AfterFunc(time.Hour, func() { w.gateway.ActOn("anthropic", gateway.Resume) })
		resp, err := w.ask(t.Context(), "/v1/messages", claude)
		if err != nil || time.Since(w.begun) != 10*time.Second {
			t.Fatalf("%v, %v after %v", resp, err, time.Since(w.begun))
		}
		pings := 0
		_ = frames(resp, func(frame string) {
			if strings.HasPrefix(frame, "event: ping") && time.Since(w.begun) < time.Hour {
				pings++
			}
		})
		resp.Body.Close()
		if pings < 350 || len(w.provider.Requests()) != 1 {
			t.Errorf("%d pings, %d requests", pings, len(w.provider.Requests()))
		}
	})
}

func TestUpstreams_ReportBreakerState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{})
		_, _, _ = w.get("/v1/messages", claude)
		all := w.gateway.Upstreams()
		if len(all) != len(gateway.APIs()) || all[0].Name != "anthropic" || all[0].Base != "http://provider.test" || all[0].Breaker.LastSuccess.IsZero() {
			t.Errorf("%+v", all)
		}
		if !all[2].Breaker.LastSuccess.IsZero() {
			t.Errorf("%+v was never asked", all[2])
		}
	})
}

func TestUse_WhileRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		var all sync.WaitGroup
		all.Go(func() {
			if _, text, err := w.get("/v1/messages", claude); err != nil || !strings.Contains(text, "message_stop") {
				t.Errorf("body %q, error %v; want no error, body with \"message_stop\"", text, err)
			}
		})
		time.Sleep(time.Minute)
		if err := w.gateway.Use(gateway.Config{Upstreams: []gateway.Upstream{{Name: "v1", API: "openai"}}}); err == nil {
			t.Error("a wrong configuration is taken")
		}
		if err := w.gateway.Use(gateway.Config{Upstreams: []gateway.Upstream{{Name: "only", API: "openai"}}}); err != nil {
			t.Errorf("Use: %v", err)
		}
		if resp, _, _ := w.get("/v1/messages", claude); resp.StatusCode != 404 {
			t.Errorf("status %d, want 404", resp.StatusCode)
		}
		all.Wait()
	})
}

func TestGateway_ClientsThatLeaveAreNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "silence:1m*32")})
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := w.ask(ctx, "/v1/messages", claude); err == nil {
					t.Error("it was answered")
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if out := w.gateway.Upstreams()[0].Breaker.Outages; len(out) != 0 {
			t.Errorf("%+v", out)
		}
		before := time.Now()
		if _, _, err := w.get("/v1/messages", claude); err != nil || time.Since(before) != 0 {
			t.Errorf("the next request took %v, %v", time.Since(before), err)
		}
	})
}
