package ratelimit_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// several are tables of processes whose requests count for the same limits.
type several struct {
	tables   []*ratelimit.Table
	away     atomic.Bool // nothing arrives
	messages atomic.Int64
}

// carrier carries the news of one of them.
type carrier struct {
	*several
	from int
}

func (c carrier) Put(k ratelimit.Key, value []byte) {
	c.messages.Add(1)
	for i, t := range c.tables {
		if i != c.from {
			time.AfterFunc(20*time.Millisecond, func() {
				if !c.away.Load() {
					t.Hear(strconv.Itoa(c.from), k, value, 20*time.Millisecond)
				}
			})
		}
	}
}

// newSeveral returns a given number of tables, joined or each by itself.
func newSeveral(n int, joined bool) *several {
	all := &several{}
	for range n {
		all.tables = append(all.tables, new(ratelimit.Table))
	}
	for i, t := range all.tables {
		if joined {
			t.Join(key.Upstream, carrier{all, i})
		}
	}
	return all
}

// outcome is what has become of the requests of a test.
type outcome struct {
	refused  int     // after the first ten seconds
	used     float64 // the share of the tokens or requests that were allowed, whichever is more
	fairness float64 // Jain's index of the answers of each table
	messages float64 // of each table in a second
}

// compete has callers at each table ask as often as they may, for five minutes.
func (s *several) compete(t *testing.T, p *provider, callers func(table int) int, tokens float64) (o outcome) {
	const length = 5 * time.Minute
	began := time.Now()
	answers := make([]atomic.Int64, len(s.tables))
	var all sync.WaitGroup
	for i, table := range s.tables {
		for caller := range callers(i) {
			all.Go(func() {
				time.Sleep(time.Duration(caller*len(s.tables)+i) * 37 * time.Millisecond)
				for time.Since(began) < length {
					ask(t.Context(), table, p, fmt.Sprint(caller), tokens)
					answers[i].Add(1)
				}
			})
		}
	}
	all.Wait()
	minutes := time.Since(began).Minutes()
	if !p.tokens.fixed {
		minutes++ // they were full
	}
	for _, at := range p.refused {
		if at.Sub(began) > 10*time.Second {
			o.refused++
		}
	}
	o.used = max(float64(p.answered)/(p.requests.limit*minutes), float64(p.answered)*tokens/(p.tokens.limit*minutes))
	sum, squares := 0.0, 0.0
	for i := range answers {
		x := float64(answers[i].Load()) / float64(callers(i))
		sum, squares = sum+x, squares+x*x
	}
	o.fairness = sum * sum / (float64(len(answers)) * squares)
	o.messages = float64(s.messages.Load()) / float64(len(s.tables)) / time.Since(began).Seconds()
	return o
}

// Ten tables before the limits of one account are refused no more than one.
func TestJoin_TenTablesKeepOneLimit(t *testing.T) {
	even := func(int) int { return 8 }
	for _, c := range []struct {
		name             string
		requests, tokens float64
		fixed            bool
		each             float64
		callers          func(int) int
		refused          float64 // a share of what it is when each is by itself
	}{
		{"requests a minute", 600, 1e9, false, 100, even, 0.02},
		{"tokens a minute", 1e6, 2e6, false, 5000, even, 0.02},
		{"tokens a minute, all at once", 1e6, 2e6, true, 5000, even, 0.6}, // gone in five seconds, with news of the last one
		{"large requests", 1e6, 1e6, false, 30_000, even, 0.1},
		{"most at one table", 1e6, 2e6, false, 5000, func(i int) int { return 1 + 63/(1+i*i*63) }, 0.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.requests != 600 {
				t.Skip("-short: one limit of ten tables is enough for the race detector")
			}
			run := func(joined bool) (o outcome) {
				synctest.Test(t, func(t *testing.T) {
					p := &provider{requests: account{limit: c.requests, fixed: c.fixed}, tokens: account{limit: c.tokens, fixed: c.fixed}, latency: time.Second}
					o = newSeveral(10, joined).compete(t, p, c.callers, c.each)
				})
				return o
			}
			one, each := run(true), run(false)
			if float64(one.refused) > c.refused*float64(each.refused) || one.used < 0.95 || one.fairness < 0.95 || one.messages > 1.1 {
				t.Errorf("%d refused, %.3f used, fairness %.3f, %.2f messages a second; each by itself %d and %.3f. Want at most %v of these, 0.95, 0.95 and 1.1",
					one.refused, one.used, one.fairness, one.messages, each.refused, each.used, c.refused)
			}
		})
	}
}

func TestJoin_NothingIsToldWhileMuchIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{requests: account{limit: 6000}, tokens: account{limit: 1e6}}
		s := newSeveral(2, true)
		for i := range 600 {
			ask(t.Context(), s.tables[i%2], p, "a", 100)
			time.Sleep(50 * time.Millisecond)
		}
		if got := s.messages.Load(); got != 0 {
			t.Errorf("%d messages while nine tenths of the limits are left, want none", got)
		}
	})
}

// One that has asked for nothing so far knows what the others have been told.
func TestJoin_LimitsAreKnownWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{requests: account{limit: 60}, tokens: account{limit: 1e6}}
		s := newSeveral(2, true)
		for range 55 {
			ask(t.Context(), s.tables[0], p, "a", 100)
		}
		time.Sleep(1100 * time.Millisecond)
		shown := s.tables[1].Show(key.Upstream, time.Now())
		if len(shown) != 1 || len(shown[0].Limits) != 2 || shown[0].Limits[0].Limit != 60 || shown[0].Limits[0].Remaining > 31 {
			t.Fatalf("the other shows %+v, want the limits of which little is left", shown)
		}
		waited := time.Duration(0)
		for range 10 {
			waited += ask(t.Context(), s.tables[1], p, "b", 100)
		}
		if len(p.refused) != 0 || waited < 2*time.Second {
			t.Errorf("ten requests of the other: %d refused, waited %v; want none, and some seconds", len(p.refused), waited)
		}
	})
}

// Without news each keeps to what it knew, and then it is by itself.
func TestJoin_WithoutNewsEachGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{requests: account{limit: 600}, tokens: account{limit: 1e9}, latency: time.Second}
		s := newSeveral(2, true)
		s.compete(t, p, func(int) int { return 20 }, 100)
		s.away.Store(true)
		began, n := time.Now(), 0
		for time.Since(began) < 5*time.Minute { // alone now: all of it may be had
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() { ask(t.Context(), s.tables[0], p, strconv.Itoa(i), 100) })
			}
			all.Wait()
			n += 20
		}
		if rate := float64(n) / time.Since(began).Minutes(); rate < 540 {
			t.Errorf("%.0f requests a minute of 600 once nothing is heard of the other, which sends none; want 540", rate)
		}
	})
}

func TestJoin_RefusalWithoutALimitIsLearnedByAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(2, true)
		s.accept(t, 70*time.Second)
		s.refuse(t, errLimited)
		time.Sleep(time.Second)
		s.refuse(t, errLimited) // it is the same
		if got, want := s.learned(), []float64{0, 0}; s.messages.Load() != 1 || !slices.Equal(got, want) {
			t.Errorf("%d messages of two refusals within a second, limits %v; want one, and %v", s.messages.Load(), got, want)
		}
		s.accept(t, 20*time.Second)
		s.refuse(t, errLimited)
		time.Sleep(time.Second)
		for i, limit := range s.learned() {
			if limit < 500 || limit > 545 {
				t.Errorf("table %d has learned %v after two refusals at the first, want nine tenths of its own 600 a minute", i, limit)
			}
		}
	})
}

// accept has each table send ten requests a second, which are accepted.
func (s *several) accept(t *testing.T, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for _, table := range s.tables {
			s.try(t, table, nil)
		}
	}
}

// refuse has the first table send a request, which is refused.
func (s *several) refuse(t *testing.T, f *fault.Error) { s.try(t, s.tables[0], f) }

func (s *several) try(t *testing.T, table *ratelimit.Table, f *fault.Error) {
	c := &ratelimit.Call{Key: key, Request: &request{flow: "a", bytes: 10}}
	if err := table.Acquire(t.Context(), c); err != nil {
		t.Fatalf("acquire: %v", err)
	}
	if f == nil {
		table.Observe(c, 200, nil)
	} else {
		table.Observe(c, f.Status, nil)
		table.Failed(c, f)
	}
	table.Close(c)
}

// learned returns the limit that each table knows; 0: none.
func (s *several) learned() (all []float64) {
	for _, table := range s.tables {
		limit := 0.0
		for _, h := range table.Show(key.Upstream, time.Now()) {
			for _, l := range h.Limits {
				limit = l.Limit
			}
		}
		all = append(all, limit)
	}
	return all
}
