package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
)

func TestSet_StatesAreOrderedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s breaker.Set
		if got := s.States(); len(got) != 0 {
			t.Errorf("States of an empty set: got %+v, want none", got)
		}
		s.Of("b")
		s.Of("a").Pause("ada")
		got := s.States()
		if len(got) != 2 || got[0].Name != "a" || got[0].PausedBy != "ada" || got[1].Name != "b" || !got[1].Paused.IsZero() {
			t.Errorf("States: got %+v, want a, paused by ada, and b, not paused", got)
		}
	})
}

func TestSet_DropsBreakersWithoutMemoryForANewOne(t *testing.T) {
	var s breaker.Set
	for i := range 1024 {
		s.Of(time.Duration(i).String())
	}
	if a, b := s.Of("a"), s.Of("a"); a != b {
		t.Error("beside 1024 breakers without memory, a new one is not kept")
	}
}

func TestSet_KeepsABreakerWithAWaitingCall(t *testing.T) {
	for name, wait := range map[string]func(*testing.T, *breaker.Breaker){
		"in backoff, outside of any outage": func(t *testing.T, g *breaker.Breaker) {
			waiting(t, g, down(time.Hour, errExpired))
		},
		"paused": func(t *testing.T, g *breaker.Breaker) {
			c := g.Caller(opus)
			c.Pause()
			go func() { _, _ = c.Acquire(t.Context()) }()
			synctest.Wait()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var s breaker.Set
			g := s.Of("https://api.example.com")
			wait(t, g)
			for i := range 1024 {
				s.Of(time.Duration(i).String())
			}
			if s.Of("https://api.example.com") != g {
				t.Errorf("a breaker with a call that is %s was dropped", name)
			}
			g.GiveUp()
		})
	}
}
