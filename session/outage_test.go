package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/session"
)

func TestMoreHostsDoNotAskAProviderMoreOftenThatIsDown(t *testing.T) {
	asked := map[int]int32{}
	for _, hosts := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			var u upstream
			h := newHouse(t)
			var host *session.Host
			for range hosts {
				host, _ = h.host()
			}
			all := u.wait(t, h, host, 100)
			asked[hosts] = u.asked.Load()
			u.up.Store(true)
			if err := host.Now(t.Context(), all[3]); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
			if n := unsealed(t, host, all); n > 0 {
				t.Errorf("%d hosts: %d of %d still wait", hosts, n, len(all))
			}
		})
	}
	if asked[4] > asked[1]*3/2 {
		t.Errorf("one host has asked %d times in an hour, four %d times", asked[1], asked[4])
	}
	t.Logf("one host has asked %d times in an hour, four %d times", asked[1], asked[4])
}
