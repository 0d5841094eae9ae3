package breaker_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// weather is an upstream that changes its mind, and looks at the breaker whenever
// it is asked.
type weather struct {
	*testing.T
	mu      sync.Mutex
	random  *rand.Rand
	breaker *breaker.Breaker
	odds    float64 // of a fault
	kinds   []fault.Kind
	free    bool                      // commands may break the rhythm
	latest  map[string]breaker.Outage // by level and scope
	probed  map[string]time.Time      // the latest request that went out in that outage
}

// try answers or fails, after a while.
func (w *weather) try(ctx context.Context, _ int) (int, error) {
	w.mu.Lock()
	w.look()
	f := &fault.Error{Kind: w.kinds[w.random.IntN(len(w.kinds))]}
	if w.random.IntN(4) == 0 {
		f.Wait = time.Duration(w.random.Int64N(int64(time.Minute)))
	}
	fails := w.random.Float64() < w.odds
	takes := time.Duration(w.random.Int64N(int64(3 * time.Second)))
	if w.random.IntN(50) == 0 {
		takes += time.Minute
	}
	w.mu.Unlock()
	if err := retry.Sleep(ctx, takes); err != nil {
		return 0, err
	}
	if fails {
		return 0, f
	}
	return 1, nil
}

// look checks that an outage is not asked about twice within its spacing. The
// host's concerns all calls, so every request is one of its probes.
func (w *weather) look() {
	now, seen := time.Now(), map[string]breaker.Outage{}
	for _, o := range w.breaker.State().Outages {
		if o.Recovering || o.Level != "host" {
			continue
		}
		seen[o.Level] = o
		before, known := w.latest[o.Level]
		if known && before.Since.Equal(o.Since) && !w.free {
			last := w.probed[o.Level]
			age := last.Sub(o.Since).Seconds()
			apart := min(max(time.Duration(age*age/360*float64(time.Second)), 250*time.Millisecond), 30*time.Second)
			if got := now.Sub(last); got < apart {
				w.Errorf("%s: requests %v apart at the age of %vs, want %v", o.Level, got, age, apart)
			}
		}
		w.probed[o.Level] = now
	}
	w.latest = seen
}

// change sets another mood.
func (w *weather) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	moods := [][]fault.Kind{
		{fault.Unavailable},
		{fault.Overloaded},
		{fault.RateLimited},
		{fault.Unavailable, fault.Overloaded, fault.RateLimited, fault.Timeout, fault.Truncated, fault.Unknown},
		{fault.Unavailable, fault.Overloaded, fault.Auth, fault.Invalid, fault.Quota},
	}
	w.odds = []float64{0, 0, 0.3, 0.9, 1}[w.random.IntN(5)]
	w.kinds = moods[w.random.IntN(len(moods))]
}

// FuzzSchedule plays a random world against the breaker: no call is lost, probes
// keep their distance, and nothing is left in the end.
func FuzzSchedule(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed%3 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, commands bool) {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			w := &weather{T: t, breaker: &g, random: rand.New(rand.NewPCG(seed, 1)), kinds: []fault.Kind{fault.Unknown}, free: commands, probed: map[string]time.Time{}}
			random := rand.New(rand.NewPCG(seed, 2))
			var all sync.WaitGroup
			calls := make([]*breaker.Caller, 60)
			for i := range calls {
				calls[i] = g.Caller(breaker.Scope{Model: []string{"a", "b"}[random.IntN(2)], Credential: []string{"x", "y"}[random.IntN(2)]})
				starts, leaves := random.Int64N(int64(time.Hour)), random.Int64N(int64(10*time.Hour))
				p := []policy.Policy{policy.Patient(), policy.Interactive(), policy.Simple(), policy.Council(policy.CouncilBudget)}[random.IntN(4)]
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(leaves))
					defer cancel()
					defer calls[i].Close()
					if retry.Sleep(ctx, time.Duration(starts)) == nil {
						_, _ = retry.Do(ctx, retry.Retrier{Policy: p, Breaker: calls[i]}, w.try)
					}
				})
			}
			for range 200 {
				time.Sleep(time.Duration(random.Int64N(int64(10 * time.Minute))))
				w.change()
				if commands {
					command(&g, calls[random.IntN(len(calls))], random.IntN(12))
				}
			}
			for _, c := range calls {
				c.Resume()
			}
			g.Resume()
			all.Wait() // the bubble fails where a call waits for ever
			nothingLeft(t, &g)
		})
	})
}

// nothingLeft checks that a breaker without callers keeps no timer.
func nothingLeft(t *testing.T, g *breaker.Breaker) {
	t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	if _, timers, calls, drift := g.Left(); timers != 0 || calls != 0 || drift != 0 {
		t.Errorf("left: %d timers, %d calls, %d outages counted wrong", timers, calls, drift)
	}
}

// command sends a command to the breaker or to a call.
func command(g *breaker.Breaker, c *breaker.Caller, which int) {
	switch which {
	case 0:
		g.Pause("operator")
	case 1, 2, 3:
		g.Resume()
	case 4:
		g.RetryNow()
	case 5:
		g.GiveUp()
	case 6:
		c.Pause()
	case 7, 8:
		c.Resume()
	case 9, 10:
		c.RetryNow()
	case 11:
		c.GiveUp()
	}
}

func TestBreaker_ThousandCallersAtOnce(t *testing.T) {
	var g breaker.Breaker
	var all sync.WaitGroup
	p := policy.Policy{Retries: policy.Unlimited, Backoff: policy.Backoff{Steps: []time.Duration{20 * time.Millisecond}}}
	synctest.Test(t, func(t *testing.T) {
		u := down(time.Second, errBusy)
		for i := range 1000 {
			all.Go(func() {
				if err := ask(t.Context(), &g, p, breaker.Scope{Credential: string(rune('a' + i%3))}, u); err != nil {
					t.Errorf("the call ended with %v", err)
				}
			})
		}
		for range 100 {
			all.Go(func() { g.State(); g.RetryNow() })
		}
		all.Wait()
		if _, timers, calls, drift := g.Left(); timers+calls+drift != 0 {
			t.Errorf("left: %d timers, %d calls, %d outages counted wrong", timers, calls, drift)
		}
	})
}
