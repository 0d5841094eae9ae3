package sharing_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// wrong is a clock that is wrong.
type wrong struct {
	clock.Machine
	by time.Duration
}

func (w wrong) Now() time.Time { return time.Now().Add(w.by) }

// oneRequest is a request of a test.
type oneRequest struct{}

func (oneRequest) Flow() (name string, agent bool) { return "a", false }
func (oneRequest) Bytes() int64                    { return 100 }
func (oneRequest) MaxTokens() int64                { return 0 }
func (oneRequest) Waits(ratelimit.Place)           {}

// sharesLimits starts a replica whose clock is wrong, with the limits of upstreams that it knows by one name, each in
// place of the one before.
func sharesLimits(t *testing.T, n *fleet.Network, id, name string, by time.Duration, upstreams ...string) *ratelimit.Table {
	t.Helper()
	s := share(t, fleet.Config{ID: id, Transport: n.Connect(id), Clock: wrong{by: by}})
	table := &ratelimit.Table{Clock: wrong{by: by}}
	for _, upstream := range upstreams {
		s.JoinLimits(upstream, name, table)
	}
	return table
}

// states has two answers state that little is left of a limit.
func states(t *testing.T, table *ratelimit.Table) {
	t.Helper()
	for range 2 { // what is sent before a limit is known is not told
		c := &ratelimit.Call{Key: ratelimit.Key{Upstream: "openai", Credential: "digest", Model: "m"}, Request: oneRequest{}}
		if err := table.Acquire(t.Context(), c); err != nil {
			t.Fatalf("acquire: %v", err)
		}
		table.Observe(c, http.StatusOK, http.Header{
			"X-Ratelimit-Limit-Requests": {"100"}, "X-Ratelimit-Remaining-Requests": {"20"}, "X-Ratelimit-Reset-Requests": {"48s"},
		})
		table.Close(c)
		time.Sleep(2 * time.Second)
	}
}

// An upstream whose address has changed has nothing of the limits that others meet at the old one.
func TestSharing_LimitsAreThoseOfTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fleet.Network{}
		here := sharesLimits(t, n, "a", "openai", 0, "openai https://old.example")
		moved := sharesLimits(t, n, "b", "openai", 0, "openai https://old.example", "openai https://new.example")
		same := sharesLimits(t, n, "c", "openai", 0, "openai https://old.example")
		states(t, here)
		if got, want := len(moved.Show("openai", time.Now())), len(same.Show("openai", time.Now())); got != 0 || want != 1 {
			t.Errorf("limits of another address: got %d, and %d where it is the same; want 0 and 1", got, want)
		}
	})
}

// What one replica's answers state is known to the others by their own clocks, whatever the upstream is called there.
func TestSharing_StatedLimitsAreKnownToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fleet.Network{}
		here := sharesLimits(t, n, "a", "openai", 0, "openai https://api.openai.com")
		there := sharesLimits(t, n, "b", "mine", time.Hour, "openai https://api.openai.com")
		states(t, here)
		shown := there.Show("mine", time.Now().Add(time.Hour))
		if len(shown) != 1 || shown[0].Credential != "digest" || shown[0].Model != "m" || len(shown[0].Limits) != 1 {
			t.Fatalf("the other replica shows %+v, want the limit", shown)
		}
		l := shown[0].Limits[0]
		if in := l.Reset.Sub(time.Now().Add(time.Hour)); l.Limit != 100 || l.Remaining > 24 || in < 40*time.Second || in > 50*time.Second {
			t.Errorf("the other replica knows of %+v, all of which comes back in %v; want 20 of 100 and what has come back, and about 45s by its own clock", l, in)
		}
	})
}
