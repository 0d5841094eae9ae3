package sharing_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// openCircuits returns how many circuits of the breaker are open, once all have heard of them several times.
func openCircuits(b *breaker.Breaker) int {
	time.Sleep(5 * time.Second)
	return len(b.State().Outages)
}

// meetFault has a call at the replica be refused, with a minute to wait.
func (r *replica) meetFault(t *testing.T) {
	t.Helper()
	c := r.breaker.Caller(opus)
	defer c.Close()
	p, err := c.Acquire(t.Context())
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	p.Report(&fault.Error{Kind: fault.RateLimited, Status: 429, Wait: time.Minute})
}

// A replica from which the upstream has left neither hears of it nor tells.
func TestSharing_UpstreamThatLeavesIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		w.replica[2].leave()
		w.replica[0].meetFault(t)
		if got := openCircuits(w.replica[1].breaker); got != 1 {
			t.Errorf("%d circuits are open at a replica that has the upstream, want 1", got)
		}
		if got := openCircuits(w.replica[2].breaker); got != 0 {
			t.Errorf("%d circuits are open where it has left, want 0", got)
		}
		w = newWorld(t, 2)
		w.replica[0].leave()
		w.replica[0].meetFault(t)
		if got := openCircuits(w.replica[1].breaker); got != 0 {
			t.Errorf("%d circuits are open after a fault at a replica from which it has left, want 0", got)
		}
	})
}

// An upstream that has come back under its name is shared, however late the one before is released.
func TestSharing_UpstreamThatIsBackStaysShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		before, back := w.replica[1], breaker.New("up")
		before.sharing.Join("up", back)
		before.leave()
		w.replica[0].meetFault(t)
		if got := openCircuits(back); got != 1 {
			t.Errorf("%d circuits are open at the upstream that has come back, want 1", got)
		}
		if got := openCircuits(before.breaker); got != 0 {
			t.Errorf("%d circuits are open at the one in whose place it is, want 0", got)
		}
	})
}

// Calls that wait at an upstream when it leaves continue as one with those of the other replicas: one probe for all.
func TestSharing_CallsThatWaitGoOnTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 8)
		w.fail(errBusy)
		all := w.call(t.Context(), 5)
		time.Sleep(5 * time.Minute)
		for _, r := range w.replica {
			r.leave()
		}
		began := time.Now()
		time.Sleep(10 * time.Minute)
		if got := len(w.between(began, time.Now())); got > 25 {
			t.Errorf("%d probes in ten minutes, want 25 at most, as of one breaker", got)
		}
		w.fail(nil)
		all.ended.Wait()
		time.Sleep(time.Minute)
		w.replica[0].meetFault(t)
		if got := openCircuits(w.replica[1].breaker); got != 0 {
			t.Errorf("%d circuits are open elsewhere once no call waits, want 0: they are released", got)
		}
	})
}

const openai = "openai https://api.openai.com"

// The limits of an upstream that has left are not heard of; those of one that is back are.
func TestSharing_LimitsOfAnUpstreamThatLeavesAreReleased(t *testing.T) {
	for _, back := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := &fleet.Network{}
			here := sharesLimits(t, n, "a", "openai", 0, openai)
			s, table := share(t, fleet.Config{ID: "b", Transport: n.Connect("b")}), new(ratelimit.Table)
			leave := s.JoinLimits(openai, "openai", table)
			if back {
				s.JoinLimits(openai, "openai", table)
			}
			leave()
			states(t, here)
			if got := len(table.Show("openai", time.Now())) == 1; got != back {
				t.Errorf("the upstream has left, and is back: %v; its limits are known: %v", back, got)
			}
		})
	}
}

// A table from which an upstream has left tells nothing of it until it is back.
func TestSharing_LimitsThatLeaveTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fleet.Network{}
		there := sharesLimits(t, n, "b", "openai", 0, openai)
		s, table := share(t, fleet.Config{ID: "a", Transport: n.Connect("a")}), new(ratelimit.Table)
		s.JoinLimits(openai, "openai", table)()
		states(t, table)
		if got := len(there.Show("openai", time.Now())); got != 0 {
			t.Errorf("%d limits were told after the upstream had left, want 0", got)
		}
		s.JoinLimits(openai, "openai", table)
		states(t, table)
		if got := len(there.Show("openai", time.Now())); got != 1 {
			t.Errorf("%d limits were told after it had come back, want 1", got)
		}
	})
}
