package conversation_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
)

// shared returns a fixture whose runners share the breaker of the model's provider with other callers.
func shared(t *testing.T) (*fixture, *breaker.Breaker) {
	h, b := newFixture(t), breaker.New(large.Provider)
	h.config.Breakers = &breaker.Set{Shared: func(provider string) *breaker.Breaker {
		if provider == large.Provider {
			return b
		}
		return nil
	}}
	return h, b
}

func TestRunner_SharesTheOutageThatOthersHaveFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := shared(t)
		for range 5 {
			c := b.Caller(breaker.Scope{Model: large.Model})
			p, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatalf("acquire before the outage: %v", err)
			}
			p.Report(busy)
			c.Close()
		}
		u := &upstream{}
		h.model = u
		runner, _ := h.runner()
		for range 10 {
			h.say(runner, h.create(runner), "hello")
		}
		time.Sleep(time.Second)
		if asked := u.asked.Load(); asked > 3 { // probes, a quarter of a second apart at least
			t.Errorf("requests of ten turns in the first second of an outage that is known: got %d, want three probes at most", asked)
		}
	})
}

func TestRunner_RecoveryOfAnotherCallerWakesParkedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h, _ := shared(t)
		runner, _ := h.runner()
		all := u.wait(t, h, runner, 20)
		u.up.Store(true)
		runner.Recovered(large.Provider)
		time.Sleep(10 * time.Second)
		if n := unsealed(t, runner, all); n > 0 {
			t.Errorf("turns that still wait ten seconds after the recovery: got %d of %d, want none", n, len(all))
		}
	})
}

func TestRunner_PausedProviderHoldsNoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := shared(t)
		h.config.Workers = 2
		var u upstream
		u.up.Store(true)
		h.model = &u
		runner, _ := h.runner()
		b.Pause("an operator")
		var all []string
		for range 5 {
			c := h.create(runner)
			h.say(runner, c, "hello")
			all = append(all, c)
		}
		time.Sleep(time.Minute)
		for _, c := range all {
			if turnOf(t, runner, c) == "" {
				t.Error("a turn has not begun: the paused ones hold the workers")
			}
		}
		if asked := u.asked.Load(); asked > 0 {
			t.Errorf("requests while the provider is paused: got %d, want none", asked)
		}
		b.Resume()
		time.Sleep(10 * time.Second)
		if n := unsealed(t, runner, all); n > 0 {
			t.Errorf("turns in progress after the pause: got %d, want none", n)
		}
	})
}
