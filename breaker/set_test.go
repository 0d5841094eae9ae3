package breaker_test

import (
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/breaker"
)

func TestSet_StatesAreOrderedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s breaker.Set
		if got := s.States(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		s.Of("b")
		s.Of("a").Pause("ada")
		got := s.States()
		if len(got) != 2 || got[0].Name != "a" || got[0].PausedBy != "ada" || got[1].Name != "b" || !got[1].Paused.IsZero() {
			t.Errorf("%+v", got)
		}
	})
}
