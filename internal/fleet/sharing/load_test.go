package sharing_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// traffic makes calls at a replica, that long apart, for a time.
func (r *replica) traffic(ctx context.Context, apart, length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(apart) {
		go func() { _ = r.ask(ctx) }()
	}
}

// retries returns how many retries a replica releases within ten seconds, of calls whose faults say nothing of the
// upstream.
func (r *replica) retries(t *testing.T) int64 {
	var n atomic.Int64
	p := policy.Policy{Retries: 1000, Backoff: policy.Backoff{Steps: []time.Duration{time.Millisecond}}, MaxWait: time.Hour, RetryOn: 1 << fault.Timeout}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 20 {
		go func() {
			c := r.breaker.Caller(opus)
			defer c.Close()
			_, _ = retry.Do(ctx, retry.Retrier{Policy: p, Breaker: c}, func(_ context.Context, try int) (string, error) {
				if try > 1 {
					n.Add(1)
				}
				return "", &fault.Error{Kind: fault.Timeout}
			})
		}()
	}
	<-ctx.Done()
	synctest.Wait()
	return n.Load()
}

func TestSharing_RetryTokensAreDividedByLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		w.replica[0].traffic(t.Context(), 50*time.Millisecond, 2*time.Minute)
		time.Sleep(3 * time.Second) // until it is told
		busy := w.replica[0].retries(t)
		if idle := w.replica[1].retries(t); busy < 90 || busy+idle > 150 {
			t.Errorf("of 100 retry tokens, and one a second for ten seconds: %d retries of the one of four replicas with all of the traffic, %d of an idle one; want 90 at least, and less than 150 in all", busy, idle)
		}
	})
}

// The first news says where calls wait.
func TestSharing_FirstSecondsHaveTheProbesOfOne(t *testing.T) {
	first := func(replicas int, apart time.Duration) int {
		n := 0
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, replicas)
			w.fail(errBusy)
			ctx, cancel := context.WithCancel(t.Context())
			defer synctest.Wait()
			defer cancel()
			for _, r := range w.replica {
				go r.traffic(ctx, apart, 3*time.Second)
			}
			began := time.Now()
			time.Sleep(3 * time.Second)
			n = len(w.between(began.Add(700*time.Millisecond), began.Add(3*time.Second)))
		})
		return n
	}
	if one, ten := first(1, 10*time.Millisecond), first(10, 100*time.Millisecond); ten > one+2 {
		t.Errorf("%d probes of ten replicas in the first three seconds of an outage, %d of one with all calls; want as many", ten, one)
	}
}

// Calls that come within a second into an outage are sent until it is known: five of each replica, and what comes
// while the first refusals are on their way. From then on only probes are.
func TestSharing_BurstIsSentUntilTheOutageIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		w.fail(errBusy)
		began := time.Now()
		for i, r := range w.replica {
			go func() {
				time.Sleep(time.Duration(i) * time.Second / 600)
				r.traffic(t.Context(), 5*time.Millisecond, time.Second) // 200
			}()
		}
		time.Sleep(40 * time.Second)
		first, later := len(w.between(began, began.Add(2*time.Second))), len(w.between(began.Add(2*time.Second), time.Now()))
		if inherent := 3*5 + 60; first > inherent+10 {
			t.Errorf("%d requests in the first two seconds of an outage, want at most %d and a few probes", first, inherent)
		}
		w.fail(nil)
		time.Sleep(2 * time.Minute)
		all := len(w.between(began, time.Now()))
		if each := float64(all) / 600; each > 1.25 {
			t.Errorf("%.2f requests for each of 600 calls, %d of them in the first two seconds and %d probes; want 1.25", each, first, later)
		}
	})
}
