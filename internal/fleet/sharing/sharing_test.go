package sharing_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/fleet"
)

// minutes counts the requests in each minute from a time on.
func (w *world) minutes(from time.Time, n int) []int {
	all := make([]int, n)
	for i := range all {
		start := from.Add(time.Duration(i) * time.Minute)
		all[i] = len(w.between(start, start.Add(time.Minute)))
	}
	return all
}

func TestSharing_TenReplicasSendTheProbesOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10)
		w.fail(errBusy)
		began := time.Now()
		all := w.call(t.Context(), 20)
		time.Sleep(44 * time.Minute)
		perMinute := w.minutes(began, 44)
		if most := slices.Max(perMinute[4:]); most > 3 {
			t.Errorf("%d requests in a later minute of the outage, want at most 3: one probe each half minute. All: %v", most, perMinute)
		}
		if sum := len(w.between(began.Add(4*time.Minute), time.Now())); float64(sum)/40 > 2.5 {
			t.Errorf("%d requests in 40 minutes, want at most 2.5 a minute", sum)
		}
		w.fail(nil)
		back := time.Now()
		all.ended.Wait()
		if took := time.Since(back); took > time.Minute || len(all.errs) > 0 {
			t.Errorf("all were answered %v after the recovery, %d gave up; want a minute at most, and none", took, len(all.errs))
		}
	})
}

func TestSharing_OneSuccessWakesAllWithin250ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5)
		w.fail(errBusy)
		all := w.call(t.Context(), 4)
		time.Sleep(20 * time.Minute)
		w.fail(nil)
		all.ended.Wait()
		first := time.Now()
		for _, at := range all.at {
			if at[0].Before(first) {
				first = at[0]
			}
		}
		for i, at := range all.at {
			if late := at[0].Sub(first) - time.Second; late > 250*time.Millisecond { // an answer takes a second
				t.Errorf("the first call of replica %d went %v after the first success, want 250 ms at most", i, late)
			}
		}
		if len(all.at) != 5 || len(all.errs) != 0 {
			t.Errorf("calls of %d replicas answered, %d gave up, want 5 and none", len(all.at), len(all.errs))
		}
	})
}

func TestSharing_SlowStartIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := busiestAfter(t, 1, 600)
		fleet := busiestAfter(t, 10, 60)
		if fleet > alone+10 {
			t.Errorf("%d requests in the busiest second after the recovery by ten replicas with 60 calls each, %d by one with 600; want no more than one more of each replica", fleet, alone)
		}
	})
}

// busiestAfter returns the requests of the busiest second after an outage.
func busiestAfter(t *testing.T, replicas, each int) int {
	w := newWorld(t, replicas)
	w.fail(errBusy)
	all := w.call(t.Context(), each)
	time.Sleep(10 * time.Minute)
	w.fail(nil)
	back := time.Now()
	all.ended.Wait()
	if took := time.Since(back); took > time.Minute {
		t.Errorf("%d replicas: all answered after %v, want a minute at most", replicas, took)
	}
	return w.busiest(back, time.Now())
}

func TestSharing_OneCooldownAfterAStatedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		w.fail(&fault.Error{Kind: fault.RateLimited, Status: 429, Wait: 5 * time.Minute})
		began := time.Now()
		if err := w.replica[0].breakOnce(); err == nil {
			t.Fatal("the first call was answered, want a rate limit")
		}
		time.Sleep(100 * time.Millisecond)
		all := w.call(t.Context(), 10)
		time.Sleep(4 * time.Minute)
		if got := len(w.between(began, time.Now())); got != 1 {
			t.Errorf("%d requests within the wait that the upstream has asked for, want that one which it has refused", got)
		}
		w.fail(nil)
		all.ended.Wait()
		if took := time.Since(began); took < 5*time.Minute || took > 5*time.Minute+15*time.Second || len(all.errs) > 0 {
			t.Errorf("all were answered after %v, %d gave up; want soon after five minutes, and none", took, len(all.errs))
		}
	})
}

// breakOnce makes one try.
func (r *replica) breakOnce() error {
	c := r.breaker.Caller(opus)
	defer c.Close()
	p, err := c.Acquire(context.Background())
	if err != nil {
		return err
	}
	_, err = r.try(context.Background(), 1)
	f, _ := err.(*fault.Error)
	p.Report(f)
	return err
}

func TestSharing_ReplicaWithoutNetworkHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		ctx, cancel := context.WithCancel(t.Context())
		var answered, late atomic.Int64
		for _, r := range w.replica[1:] { // these have calls all the time
			go func() {
				for ctx.Err() == nil {
					began := time.Now()
					if r.ask(ctx) == nil {
						answered.Add(1)
					}
					if time.Since(began) > 1100*time.Millisecond {
						late.Add(1)
					}
					time.Sleep(time.Second)
				}
			}()
		}
		time.Sleep(10 * time.Second)
		w.sicken(0, true)
		var waited calls
		for range 5 {
			waited.ended.Go(func() {
				if err := w.replica[0].ask(ctx); err != nil {
					t.Errorf("a call of the sick replica gave up: %v", err)
				}
			})
		}
		time.Sleep(20 * time.Minute)
		if late.Load() > 0 || answered.Load() < 1000 {
			t.Errorf("%d calls of the others answered, %d of them late; want 1000 and none", answered.Load(), late.Load())
		}
		w.sicken(0, false)
		repaired := time.Now()
		waited.ended.Wait()
		if took := time.Since(repaired); took > 40*time.Second {
			t.Errorf("the sick replica was answered %v after it was repaired, want 40 s at most", took)
		}
		cancel()
		synctest.Wait()
		time.Sleep(2 * time.Second)
	})
}

func TestSharing_IdleReplicaIsNotHeldBackByASickOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.sicken(0, true)
		go func() { _ = w.replica[0].ask(t.Context()) }()
		for range 4 {
			go func() { _ = w.replica[0].ask(t.Context()) }()
		}
		time.Sleep(10 * time.Minute)
		began := time.Now()
		if err := w.replica[1].ask(t.Context()); err != nil || time.Since(began) > time.Minute+10*time.Second {
			t.Errorf("a call of the other replica: %v after %v, want an answer within about a minute: its turn to probe", err, time.Since(began))
		}
		w.sicken(0, false)
		time.Sleep(time.Hour)
	})
}

func TestSharing_DeadProberIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		w.fail(errBusy)
		all := w.call(t.Context(), 30)
		time.Sleep(10 * time.Minute)
		w.partition(func(from, to string) bool { return from == "r00" || to == "r00" })
		w.replica[0].breaker.Pause("it has died")
		died := time.Now()
		time.Sleep(10 * time.Minute)
		others := w.between(died, time.Now())
		longest, last := time.Duration(0), died
		for _, q := range others {
			longest, last = max(longest, q.at.Sub(last)), q.at
		}
		if longest > 40*time.Second || len(others) > 22 {
			t.Errorf("%d probes in ten minutes after one replica has died, the longest pause %v; want 20 or so, and 40 s", len(others), longest)
		}
		w.replica[0].breaker.Resume()
		w.partition(nil)
		w.fail(nil)
		all.ended.Wait()
	})
}

func TestSharing_PartitionDoublesProbesAtMostAndStarvesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10)
		w.fail(errBusy)
		all := w.call(t.Context(), 20)
		time.Sleep(10 * time.Minute)
		away := func(id string) bool { return id < "r03" }
		w.partition(func(from, to string) bool { return away(from) != away(to) })
		cut := time.Now()
		time.Sleep(20 * time.Minute)
		if got := len(w.between(cut, time.Now())); got > 84 {
			t.Errorf("%d probes in the 20 minutes of a partition, want 84 at most: twice 2.1 a minute", got)
		}
		w.fail(nil)
		back := time.Now()
		all.ended.Wait()
		if took := time.Since(back); took > time.Minute || len(all.at) != 10 || len(all.errs) > 0 {
			t.Errorf("all were answered %v after the recovery in a partition, at %d replicas, %d gave up; want a minute, 10 and none", took, len(all.at), len(all.errs))
		}
		w.partition(nil)
	})
}

func TestSharing_WithoutAConnectionEachGoesOnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		w.fail(errBusy)
		all := w.call(t.Context(), 20)
		time.Sleep(10 * time.Minute)
		w.partition(func(string, string) bool { return true })
		lost := time.Now()
		time.Sleep(10 * time.Minute)
		from := map[int]int{}
		for _, q := range w.between(lost.Add(time.Minute), time.Now()) {
			from[q.from]++
		}
		for i := range w.replica {
			if from[i] < 15 || from[i] > 20 {
				t.Errorf("%d probes of replica %d in nine minutes without a connection, want about 18 as of a gateway by itself", from[i], i)
			}
		}
		w.partition(nil)
		time.Sleep(time.Minute)
		together := time.Now()
		time.Sleep(10 * time.Minute)
		if got := len(w.between(together, time.Now())); got > 22 {
			t.Errorf("%d probes in the ten minutes after the connection was back, want 20 or so", got)
		}
		w.fail(nil)
		all.ended.Wait()
		if len(all.errs) > 0 {
			t.Errorf("%d calls gave up, want none", len(all.errs))
		}
	})
}

func TestSharing_NewcomerLearnsOfTheOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.fail(errBusy)
		all := w.call(t.Context(), 5)
		time.Sleep(10 * time.Minute)
		late := w.join(t, 9)
		time.Sleep(3 * time.Second)
		outages := late.breaker.State().Outages
		if len(outages) != 1 || outages[0].Level != "model" || time.Since(outages[0].Since) < 9*time.Minute {
			t.Fatalf("the newcomer knows of %+v, want the outage of the model since ten minutes", outages)
		}
		if got := outages[0].Fault.Error(); got != "HTTP 529: server overloaded" {
			t.Errorf("the shared fault says %q, want nothing of what the provider has said", got)
		}
		began := time.Now()
		go func() { _ = late.ask(t.Context()) }()
		time.Sleep(4 * time.Second)
		for _, q := range w.between(began, time.Now()) {
			if q.from == 9 && w.between(began, q.at) == nil {
				t.Errorf("the newcomer's call went at once, want that it shares the fault, or waits for its turn")
			}
		}
		w.fail(nil)
		all.ended.Wait()
		time.Sleep(time.Minute)
	})
}

func TestSharing_NothingIsSentWhileAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		n := &fleet.Network{}
		b := breaker.New("up")
		share(t, fleet.Config{ID: "a", Transport: counting{n.Connect("a"), &sent}}).Join("up", b)
		began := sent.Load()
		for range 1000 {
			c := b.Caller(opus)
			p, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			p.Report(nil)
			c.Close()
			time.Sleep(10 * time.Millisecond)
		}
		if got := sent.Load() - began; got > 6 {
			t.Errorf("%d messages in 10 s with 1000 answered calls, want the signs of life, 6 at most", got)
		}
	})
}

// counting counts what is published.
type counting struct {
	fleet.Transport
	n *atomic.Int64
}

func (c counting) Publish(topic string, data []byte) error {
	c.n.Add(1)
	return c.Transport.Publish(topic, data)
}
