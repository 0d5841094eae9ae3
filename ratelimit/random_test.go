package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/ratelimit"
)

// An honest provider refuses nothing once it is known, whatever comes.
func TestAcquire_HonestProvidersRefuseNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := &provider{
			requests: account{limit: float64(rapid.IntRange(5, 1000).Draw(r, "requests"))},
			tokens:   account{limit: float64(rapid.IntRange(20000, 2e6).Draw(r, "tokens"))},
			latency:  time.Duration(rapid.IntRange(1, 20000).Draw(r, "latency")) * time.Millisecond,
			late:     rapid.Bool().Draw(r, "late"),
		}
		flows := rapid.IntRange(1, 20).Draw(r, "flows")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 19000), 1, 60).Draw(r, "sizes")
		synctest.Test(t, func(t *testing.T) {
			var table ratelimit.Table
			ask(t.Context(), &table, p, "first", 10) // from which the limits are known
			var all sync.WaitGroup
			for i, size := range sizes {
				all.Go(func() { ask(t.Context(), &table, p, fmt.Sprint(i%flows), float64(size)) })
			}
			all.Wait()
			if len(p.refused) != 0 || p.answered != len(sizes)+1 {
				r.Errorf("%d refused, %d of %d answered; want 0 and all", len(p.refused), p.answered, len(sizes)+1)
			}
		})
	})
}

// What is stated may be of when the request was sent. Since then only as much has come back as was lacking.
func TestAcquire_NothingComesBackToAWholeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{requests: account{limit: 7}, tokens: account{limit: 20382}, latency: 11236 * time.Millisecond}
		var table ratelimit.Table
		ask(t.Context(), &table, p, "first", 10)
		var all sync.WaitGroup
		for _, size := range []float64{613, 2, 150, 3, 6, 367, 4360, 19000} {
			all.Go(func() { ask(t.Context(), &table, p, "0", size) })
			synctest.Wait()
		}
		all.Wait()
		if len(p.refused) != 0 {
			t.Errorf("%d refused, want none", len(p.refused))
		}
	})
}

// Whatever is stated, something goes at least once a minute while something waits.
func TestAcquire_AnyHeadersLetTrafficGo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.OneOf(
			rapid.SampledFrom([]string{"", "0", "-1", "1", "NaN", "Inf", "1e12", "x", "60s", "2038-01-01T00:00:00Z", "99999999999"}),
			rapid.Map(rapid.IntRange(0, 100000), strconv.Itoa),
		)
		names := []string{
			"x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests",
			"anthropic-ratelimit-input-tokens-limit", "anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset",
			"x-ratelimit-limit-tokens-minute", "x-ratelimit-remaining-tokens-minute",
		}
		stated := rapid.SliceOfN(rapid.MapOfN(rapid.SampledFrom(names), value, 1, 8), 1, 8).Draw(r, "headers")
		statuses := rapid.SliceOfN(rapid.SampledFrom([]int{200, 200, 200, 429, 500}), 1, 8).Draw(r, "statuses")
		seed := rapid.Uint64().Draw(r, "seed")
		synctest.Test(t, func(t *testing.T) {
			var table ratelimit.Table
			var all sync.WaitGroup
			var mu sync.Mutex
			dice := rand.New(rand.NewPCG(seed, 0))
			went := []time.Time{time.Now()}
			for i := range 60 {
				c := &ratelimit.Call{Key: key, Request: &request{flow: strconv.Itoa(i % 5), bytes: dice.Int64N(1e6), max: dice.Int64N(1e5)}}
				all.Go(func() {
					_ = table.Acquire(t.Context(), c)
					mu.Lock()
					went = append(went, time.Now())
					h := http.Header{}
					for name, v := range stated[i%len(stated)] {
						h.Set(name, v)
					}
					mu.Unlock()
					time.Sleep(time.Duration(1+i) * time.Millisecond)
					table.Observe(c, statuses[i%len(statuses)], h)
					table.Close(c)
				})
				synctest.Wait()
				time.Sleep(time.Duration(1+dice.IntN(300)) * time.Millisecond)
			}
			all.Wait()
			slices.SortFunc(went, time.Time.Compare)
			for i := range went[1:] {
				if gap := went[i+1].Sub(went[i]); gap > time.Minute+time.Second {
					r.Errorf("nothing went for %v, want at most a minute", gap)
				}
			}
		})
	})
}
