package breaker_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// The callers of the long outage: each asks, has its answer two seconds later,
// thinks, and asks again, so that 33 calls arrive in a second.
const (
	callers = 1000
	takes   = 2 * time.Second
	thinks  = 28 * time.Second
	steady  = float64(callers) / 30
)

// figures are what a long outage comes to.
type figures struct {
	first, busiest int           // requests in the outage's first minute, in the busiest after the fourth
	probe, last    time.Duration // from recovery to the first answer's request, to the last waiter's answer
	peak           float64       // requests per second after recovery, in the busiest second
}

// outlast has the callers meet an outage of that length, and looks at them for
// a while after it.
func outlast(t *testing.T, g *breaker.Breaker, d, after time.Duration) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now().Add(10 * time.Minute)
		u := &upstream{from: begun, to: begun.Add(d), fault: errBusy, slow: takes, sick: 100 * time.Millisecond}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		for i := range callers {
			all.Go(func() {
				time.Sleep(time.Duration(i) * (takes + thinks) / callers)
				for ctx.Err() == nil {
					asked := time.Now()
					if err := ask(ctx, g, policy.Patient(), breaker.Scope{}, u); err != nil {
						return
					}
					if asked.Before(u.to) && time.Now().After(u.to) {
						mu.Lock()
						f.last = max(f.last, time.Since(u.to))
						mu.Unlock()
					}
					time.Sleep(thinks)
				}
			})
		}
		time.Sleep(time.Until(u.to.Add(after)))
		cancel()
		all.Wait()
		f.count(u)
	})
	return f
}

// count reads the figures from what the upstream was asked.
func (f *figures) count(u *upstream) {
	minutes := make([]int, int(u.to.Sub(u.from)/time.Minute)+1)
	for _, at := range u.asked {
		if !at.Before(u.from) && at.Before(u.to) {
			minutes[int(at.Sub(u.from)/time.Minute)]++
		}
	}
	f.first, f.busiest = minutes[0], slices.Max(minutes[4:])
	i, _ := slices.BinarySearchFunc(u.asked, u.to, time.Time.Compare)
	f.probe = u.asked[i].Sub(u.to)
	f.peak = float64(u.peak(u.to, time.Second))
}

// spread returns the least, the middle and the most of a figure.
func spread[T int | time.Duration | float64](all []figures, of func(figures) T) string {
	var v []T
	for _, f := range all {
		v = append(v, of(f))
	}
	slices.Sort(v)
	return fmt.Sprintf("%v / %v / %v", v[0], v[len(v)/2], v[len(v)-1])
}

// moments is how many moments of recovery, evenly spread over the schedule's
// last wait, the table of the long outage is about.
var moments = flag.Int("moments", 0, "moments of recovery in TestBreaker_ThousandCallersInATwoHourOutage; 0: one")

// TestBreaker_ThousandCallersInATwoHourOutage measures what a shared outage is worth:
// the same callers with a breaker and each by its own clock. Run it with -v and
// -args -moments 10 for the whole table.
func TestBreaker_ThousandCallersInATwoHourOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var shared, alone []figures
	n := cmp.Or(*moments, 1)
	for i := range n {
		// a prime number of milliseconds, so that no two fall alike between probes
		d := 2*time.Hour + 30*time.Minute*time.Duration(i)/time.Duration(n) + time.Duration(i)*6691*time.Millisecond
		shared = append(shared, outlast(t, &breaker.Breaker{}, d, 3*time.Minute))
		alone = append(alone, outlast(t, nil, d, 31*time.Minute))
	}
	for _, side := range []struct {
		name string
		all  []figures
	}{{"breaker", shared}, {"no-breaker", alone}} {
		all := side.all
		for _, row := range []struct{ name, value string }{
			{"requests-in-the-first-minute", spread(all, func(f figures) int { return f.first })},
			{"requests-in-the-busiest-later-minute", spread(all, func(f figures) int { return f.busiest })},
			{"recovery-is-noticed-after", spread(all, func(f figures) time.Duration { return f.probe })},
			{"the-last-waiter-is-answered-after", spread(all, func(f figures) time.Duration { return f.last })},
			{"requests-in-the-busiest-second", spread(all, func(f figures) float64 { return f.peak })},
		} {
			t.Logf("%-8s %-38s %s", side.name, row.name, row.value)
			t.Attr(side.name+"-"+row.name, row.value)
		}
	}
	for _, f := range shared {
		if f.busiest > 2 || f.probe > 30*time.Second || f.last > 60*time.Second || f.peak > math.Ceil(2*steady) {
			t.Errorf("traffic: got %+v, want at most 2 in flight, a probe within 30s, all within 60s and a peak of twice %v", f, steady)
		}
	}
}

func TestCaller_OutageIsTheOneThatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, other := &breaker.Breaker{}, breaker.Scope{Model: "haiku", Credential: "a"}
		fail(t, g, opus, errBusy)
		c, second, free := g.Caller(opus), g.Caller(opus), g.Caller(other)
		defer c.Close()
		defer second.Close()
		defer free.Close()
		if got := c.Outage(); got.Level != "" {
			t.Errorf("outage of a call that does not wait: got %+v, want none", got)
		}
		go func() { _ = c.Wait(t.Context(), time.Minute) }()
		go func() { _ = second.Wait(t.Context(), time.Minute) }() // one of two is woken as a probe
		go func() { _ = free.Wait(t.Context(), time.Minute) }()
		synctest.Wait()
		want := g.State().Outages[0]
		if got := c.Outage(); got.Level != "model" || got.Scope != want.Scope || !got.Next.Equal(want.Next) {
			t.Errorf("outage of a call to the model that fails: got %+v, want %+v", got, want)
		}
		if got := free.Outage(); got.Level != "" {
			t.Errorf("outage of a call to another model: got %+v, want none", got)
		}
		c.GiveUp()
		second.GiveUp()
		free.GiveUp()
		synctest.Wait()
	})
}
