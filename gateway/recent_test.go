package gateway_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

func TestRequestSentAgainAfterExhaustionIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(48*time.Hour))
		_, _, _ = w.get("/v1/messages", claude)
		before, ended := len(w.provider.Requests()), time.Now()
		time.Sleep(10 * time.Second)
		resp, text, err := w.get("/v1/messages", claude)
		h := resp.Header
		if err != nil || resp.StatusCode != 529 || h.Get("X-Should-Retry") != "false" || h.Get("Retry-After") != "5" || !strings.Contains(text, "overloaded_error") {
			t.Errorf("%d %v %q, %v", resp.StatusCode, h, text, err)
		}
		if time.Since(ended) != 10*time.Second || len(w.provider.Requests()) != before {
			t.Errorf("it took %v and %d requests", time.Since(ended)-10*time.Second, len(w.provider.Requests())-before)
		}
		for range 12 { // an agent that begins with five seconds and has many retries
			time.Sleep(70 * time.Second)
			if resp, _, err := w.get("/v1/messages", claude); err != nil || resp.StatusCode != 529 {
				t.Errorf("after %v: %v, %v", time.Since(ended), resp, err)
			}
		}
		if n := len(w.provider.Requests()); n != before {
			t.Errorf("%d requests", n-before)
		}
		time.Sleep(2 * time.Minute)
		_, text, err = w.get("/v1/messages", claude)
		if err != nil || !strings.Contains(text, "event: ping") {
			t.Errorf("later: %q, %v", text[:min(len(text), 300)], err)
		}
	})
}

func TestSessionsNextRequestIsAnsweredAtOnceAsWell(t *testing.T) {
	tests := []struct {
		session, model string
		atOnce         bool
	}{
		{"s-1", "sonnet", true},
		{"s-2", "sonnet", false},
		{"s-1", "haiku", false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy.Simple(), outage(48*time.Hour))
			_, _, _ = w.get("/v1/messages", claude, "X-Claude-Code-Session-Id", "s-1")
			before := time.Now()
			other := strings.Replace(whole(claude), "Hi", "Hi again", 1)
			_, _, _ = w.get("/v1/messages", strings.Replace(other, "sonnet", tt.model, 1), "X-Claude-Code-Session-Id", tt.session)
			if took := time.Since(before); (took == 0) != tt.atOnce {
				t.Errorf("%s, %s: answered after %v", tt.session, tt.model, took)
			}
		})
	}
}

func TestRequestSentAgainByAnotherClientIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Simple(), outage(48*time.Hour))
		_, _, _ = w.get("/v1/messages", whole(claude), "X-Api-Key", "one")
		before := time.Now()
		_, _, _ = w.get("/v1/messages", whole(claude), "X-Api-Key", "other")
		if took := time.Since(before); took != 7*time.Second {
			t.Errorf("answered after %v", took)
		}
	})
}

func TestRequestSentAgainIsTriedWhenTheProviderIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Simple(), outage(7500*time.Millisecond))
		_, _, _ = w.get("/v1/messages", whole(claude))
		time.Sleep(time.Second)
		resp, _, _ := w.get("/v1/messages", strings.Replace(whole(claude), "Hi", "Hello", 1))
		again, text, err := w.get("/v1/messages", whole(claude))
		if err != nil || resp.StatusCode != 200 || again.StatusCode != 200 {
			t.Errorf("%d, then %d %q, %v", resp.StatusCode, again.StatusCode, text, err)
		}
	})
}

func TestRequestSentAgainWhileItWaitsJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(40*time.Minute))
		var all sync.WaitGroup
		all.Go(func() { // a client whose patience ends at 600 s
			ctx, cancel := context.WithTimeout(t.Context(), 600*time.Second)
			defer cancel()
			resp, err := w.ask(ctx, "/v1/chat/completions", whole(gpt))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("it was answered")
			}
		})
		time.Sleep(599 * time.Second)
		_, text, err := w.get("/v1/chat/completions", whole(gpt), "X-Stainless-Retry-Count", "1")
		all.Wait()
		if err != nil || !strings.Contains(text, "The provider is well again") {
			t.Errorf("%q, %v", text, err)
		}
		if n := len(w.provider.Requests()); n != 9 { // 5 s, 15 s, 45 s, 105 s, 405 s, 1005 s, 1905 s, then it is back
			t.Errorf("%d requests", n)
		}
	})
}

func TestAnswerGoesToTheClientThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := simulator.Script{Replies: []simulator.Reply{simulator.Silence{For: 15 * time.Minute}}}
		w := newUnlimitedWorld(t, slow)
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			if _, err := w.ask(ctx, "/v1/messages", whole(claude)); err == nil {
				t.Error("it was answered")
			}
		})
		time.Sleep(599 * time.Second)
		resp, text, err := w.get("/v1/messages", whole(claude), "X-Stainless-Retry-Count", "1")
		all.Wait()
		if err != nil || resp.StatusCode != 200 || time.Since(w.begun) != 15*time.Minute || len(w.provider.Requests()) != 1 {
			t.Errorf("%d %q, %v after %v in %d requests", resp.StatusCode, text, err, time.Since(w.begun), len(w.provider.Requests()))
		}
	})
}

// newUnlimitedWorld is a world whose tries have no limits.
func newUnlimitedWorld(t *testing.T, script simulator.Script) *world {
	provider := simulator.New(script)
	all := everything(address("provider.test"))
	for i := range all {
		all[i].Limits = &gateway.Limits{}
	}
	w := newWorldWith(t, gateway.Config{Upstreams: all, Policy: policy.Patient(), Base: provider.Transport()})
	w.provider = provider
	t.Cleanup(func() { _ = provider.Close() })
	return w
}

func TestTwoClientsThatAskTheSameHaveTwoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), simulator.Script{Replies: replies(t, "silence:1m, silence:1m")})
		var all sync.WaitGroup
		for _, count := range []string{"0", "0"} {
			all.Go(func() { _, _, _ = w.get("/v1/messages", claude, "X-Stainless-Retry-Count", count) })
		}
		all.Wait()
		if n := len(w.provider.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestBothClientsOfARequestAreAnswered(t *testing.T) {
	for _, body := range []string{claude, whole(claude)} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy.Patient(), outage(3*time.Minute))
			var all sync.WaitGroup
			for i, count := range []string{"0", "1"} {
				time.Sleep(time.Duration(i) * time.Second)
				all.Go(func() {
					_, text, err := w.get("/v1/messages", body, "X-Stainless-Retry-Count", count)
					if err != nil || !strings.Contains(text, "stop") {
						t.Errorf("%s: %q, %v", count, text, err)
					}
				})
			}
			all.Wait()
			if n := len(w.provider.Requests()); n != 7 { // 0, 5, 15, 45, 105 s fail, then one answer each
				t.Errorf("%d requests: %s", n, w.outcomes())
			}
		})
	}
}

func TestBudgetGoesOnForAClientThatCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(48*time.Hour))
		for range 60 { // a client that leaves after ten minutes and comes back at once
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			resp, err := w.ask(ctx, "/v1/messages", claude)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			cancel()
			if err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(w.begun); took < 2*time.Hour || took > 10*time.Hour {
			t.Errorf("it was held for %v", took)
		}
	})
}

func TestCutOfAHeldWholeAnswerIsFollowedByAPlainError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(48*time.Hour))
		resp, text, err := w.get("/v1/messages", whole(claude))
		if err == nil || resp.StatusCode != 200 || strings.Trim(text, " ") != "" {
			t.Errorf("%d %q, %v", resp.StatusCode, text, err)
		}
		resp, _, err = w.get("/v1/messages", whole(claude), "X-Stainless-Retry-Count", "1")
		if err != nil || resp.StatusCode != 529 || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("again: %d %v, %v", resp.StatusCode, resp.Header, err)
		}
	})
}

func TestRequestAnsweredAtOnceKeepsNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(48*time.Hour))
		for range 3 { // the second and third come while the upstream is out, and are packed
			_, _, _ = w.get("/v1/messages", prose(20<<10))
		}
		synctest.Wait()
		if flights, waits, memory, disk := w.gateway.Left(); flights+waits != 0 || memory+disk != 0 {
			t.Errorf("left: %d flights, %d waits, %d and %d bytes", flights, waits, memory, disk)
		}
	})
}
