package sharing_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/fleet/sharing"
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

// What one replica's answers state is known to the others by their own clocks, whatever the upstream is called there.
func TestSharing_StatedLimitsAreKnownToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fleet.Network{}
		join := func(id, name string, by time.Duration) *ratelimit.Table {
			f := fleet.Join(fleet.Config{Name: "main", ID: id, Transport: n.Connect(id), Clock: wrong{by: by}})
			s := sharing.Start(f)
			t.Cleanup(f.Close)
			t.Cleanup(s.Close)
			table := &ratelimit.Table{Clock: wrong{by: by}}
			s.JoinLimits("openai https://api.openai.com", name, table)
			return table
		}
		here, there := join("a", "openai", 0), join("b", "mine", time.Hour)
		for range 2 { // what is sent before a limit is known is not told
			c := &ratelimit.Call{Key: ratelimit.Key{Upstream: "openai", Credential: "digest", Model: "m"}, Request: oneRequest{}}
			if err := here.Acquire(t.Context(), c); err != nil {
				t.Fatalf("acquire: %v", err)
			}
			here.Observe(c, http.StatusOK, http.Header{
				"X-Ratelimit-Limit-Requests": {"100"}, "X-Ratelimit-Remaining-Requests": {"20"}, "X-Ratelimit-Reset-Requests": {"48s"},
			})
			here.Close(c)
			time.Sleep(2 * time.Second)
		}
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
