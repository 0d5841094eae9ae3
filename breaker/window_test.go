package breaker_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

func TestWindow_RowThatOpens(t *testing.T) {
	for _, tt := range []struct {
		name          string
		tries, faults int // before the row
		row           int // that opens the circuit
	}{
		{"no faults before", 1000, 0, 5},
		{"too few tries", 90, 30, 5},
		{"one in a hundred fails", 1000, 10, 5},
		{"a tenth fails", 1000, 100, 9},
		{"a third fails", 1000, 333, 17},
		{"half fail", 1000, 500, 27},
		{"most fail", 1000, 700, 5},
	} {
		if got := breaker.RowToOpen(tt.tries, tt.faults); got != tt.row {
			t.Errorf("%s: %d faults in a row open the circuit, want %d", tt.name, got, tt.row)
		}
	}
}

func TestWindow_FailsInPartFromAHundredTriesToTwoThirds(t *testing.T) {
	for _, tt := range []struct {
		tries, faults int
		want          bool
	}{{99, 33, false}, {100, 33, true}, {150, 99, true}, {150, 100, false}} {
		if got := breaker.FailsInPart(tt.tries, tt.faults); got != tt.want {
			t.Errorf("%d faults in %d tries are a partial failure: %v, want %v", tt.faults, tt.tries, got, tt.want)
		}
	}
}

func TestWindow_OldTriesLoseWeight(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		row   int
	}{{0, 17}, {5 * time.Second, 18}, {8 * time.Second, 5}} { // 200 tries count, and less than 100 say nothing
		if got := breaker.RowToOpenAfter(tt.after, 1000, 333); got != tt.row {
			t.Errorf("%v after a third of many tries has failed: %d faults in a row open the circuit, want %d", tt.after, got, tt.row)
		}
	}
}

// randomFaults is an upstream that refuses a share of its requests at random, in
// 200 ms, and answers the others. It has 200 calls a second.
type randomFaults struct {
	mu       sync.Mutex
	share    float64
	calls    uint64        // so far
	takes    time.Duration // an answer
	tries    int
	inFlight int // calls
	most     int // of them
	longest  time.Duration
	all      sync.WaitGroup
}

func newRandomFaults(share float64, takes time.Duration) *randomFaults {
	return &randomFaults{share: share, takes: takes}
}

// set changes the share of refusals, and returns how many tries there were.
func (u *randomFaults) set(share float64) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.share = share
	return u.tries
}

// try makes a try of a call. Whether it is refused is drawn for the call, whatever the order in which tries come.
func (u *randomFaults) try(ctx context.Context, drawn *rand.Rand) (int, error) {
	u.mu.Lock()
	u.tries++
	refused, takes := drawn.Float64() < u.share, u.takes
	u.mu.Unlock()
	if refused {
		_ = retry.Sleep(ctx, 200*time.Millisecond)
		return 0, errBusy
	}
	return 1, retry.Sleep(ctx, takes)
}

// call makes one call, which must not fail.
func (u *randomFaults) call(t *testing.T, g *breaker.Breaker) {
	if err := u.ask(t.Context(), g, policy.Patient()); err != nil {
		t.Errorf("the call ended with %v", err)
	}
}

// ask makes one call through the breaker; nil: without one.
func (u *randomFaults) ask(ctx context.Context, g *breaker.Breaker, p policy.Policy) error {
	start, drawn := time.Now(), rand.New(rand.NewPCG(5, u.begin()))
	e := retry.Retrier{Policy: p}
	if g != nil {
		c := g.Caller(opus)
		defer c.Close()
		e.Breaker = c
	}
	_, err := retry.Do(ctx, e, func(ctx context.Context, _ int) (int, error) { return u.try(ctx, drawn) })
	u.end(time.Since(start))
	return err
}

// begin counts a call that begins, and returns its number.
func (u *randomFaults) begin() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
	u.inFlight++
	u.most = max(u.most, u.inFlight)
	return u.calls
}

// end counts a call that has ended.
func (u *randomFaults) end(took time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inFlight--
	u.longest = max(u.longest, took)
}

// arrive has calls arrive for that long, and returns at how many seconds the breaker was degraded.
func (u *randomFaults) arrive(t *testing.T, g *breaker.Breaker, d time.Duration) (degraded int) {
	t.Helper()
	for end, n := time.Now().Add(d), 1; time.Now().Before(end); n++ {
		u.all.Go(func() { u.call(t, g) })
		time.Sleep(5 * time.Millisecond)
		if n%200 == 0 && g.Degraded() {
			degraded++
		}
	}
	return degraded
}

func TestBreaker_PartialFailureIsNoOutage(t *testing.T) {
	for _, tt := range []struct {
		name    string
		share   float64
		most    int           // calls in progress: twice those that a second's answer and waits of 5 s make
		longest time.Duration // of a call
		seconds int           // of thirty in which the breaker may be degraded: a row of refusals that is chance opens it
	}{
		{"a third fails", 1.0 / 3, 2 * 200 * (1 + 5/2), time.Minute, 0},
		{"half fail", 1.0 / 2, 2 * 200 * (1 + 5), 2 * time.Minute, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g breaker.Breaker
				u := newRandomFaults(tt.share, time.Second)
				u.arrive(t, &g, 20*time.Second) // the first row opens the circuit, before enough is known
				if n := u.arrive(t, &g, 30*time.Second); n > tt.seconds {
					t.Errorf("degraded in %d of 30 seconds, want at most %d", n, tt.seconds)
				}
				u.set(0)
				u.arrive(t, &g, 10*time.Second) // and the last are answered beside others
				u.all.Wait()
				t.Logf("%d calls at once, the longest took %v", u.most, u.longest)
				if u.most > tt.most || u.longest > tt.longest {
					t.Errorf("%d calls at once and %v for one, want at most %d and %v", u.most, u.longest, tt.most, tt.longest)
				}
				nothingLeft(t, &g)
			})
		})
	}
}

func TestBreaker_OutageAfterPartialFailureOpensSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := newRandomFaults(1.0/3, time.Second)
		u.arrive(t, &g, 30*time.Second)
		before := u.set(1)
		degraded := u.arrive(t, &g, 10*time.Second)
		if sent := u.set(0) - before; sent > 1000 || degraded < 8 {
			t.Errorf("degraded in %d of 10 seconds without any answer, with %d requests; want 8 and 1000", degraded, sent)
		}
		u.all.Wait()
	})
}

// TestBreaker_AnswersFromBeforeAnOutageDoNotHideIt: answers to calls from before it come
// for six seconds more, beside as many refusals.
func TestBreaker_AnswersFromBeforeAnOutageDoNotHideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := newRandomFaults(0, 6*time.Second)
		u.arrive(t, &g, 10*time.Second)
		before := u.set(1)
		u.arrive(t, &g, 10*time.Second)
		if sent := u.set(0) - before; sent > 300 {
			t.Errorf("%d requests in the first ten seconds of an outage, want at most 300", sent)
		}
		u.all.Wait()
	})
}

func TestBreaker_UsualFaultOfACallerWithFewRetriesIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		for range 100 {
			meet(t, &g, opus, errBusy, nil, nil)
		}
		c, pass, err := enter(t, &g, opus)
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		c.FewRetries = true
		pass.Report(errBusy)
		if got := says(t, &g, opus); got != "goes" {
			t.Errorf("where a third fails, after a fault of a caller with few retries the next call gets %s, want goes", got)
		}
	})
}

func TestBreaker_CircuitWithoutRecentFaultsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		sonnet := breaker.Scope{Model: "sonnet"}
		meet(t, &g, opus, errBusy, nil)
		for _, tt := range []struct {
			after time.Duration
			left  int
		}{{0, 1}, {5 * time.Second, 1}, {3 * time.Second, 0}} {
			time.Sleep(tt.after)
			meet(t, &g, sonnet, nil)
			if circuits, _, _, _ := g.Left(); circuits != tt.left {
				t.Errorf("%v later, %d circuits are remembered, want %d", tt.after, circuits, tt.left)
			}
		}
	})
}

func TestSet_KeepsABreakerWithAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name string
			done func(*breaker.Breaker)
			kept bool
		}{
			{"a fault", func(*breaker.Breaker) {}, true},
			{"a fault and an answer", func(g *breaker.Breaker) { meet(t, g, opus, nil) }, false},
			{"an outage", func(g *breaker.Breaker) { meet(t, g, opus, limited(time.Hour)) }, true},
		} {
			var s breaker.Set
			g := s.Of("https://api.example.com")
			meet(t, g, opus, errBusy)
			tt.done(g)
			for i := range 1024 {
				s.Of(time.Duration(i).String())
			}
			if kept := s.Of("https://api.example.com") == g; kept != tt.kept {
				t.Errorf("a breaker after %s is kept: %v, want %v", tt.name, kept, tt.kept)
			}
		}
	})
}
