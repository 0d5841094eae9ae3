package history_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// sumOf returns the sum of the histories of r0, r1, …
func sumOf(t *testing.T, all ...*world) *world {
	var parts []history.Part
	for i, w := range all {
		parts = append(parts, history.Part{History: w.History, Name: fmt.Sprint("r", i)})
	}
	return &world{history.Sum(time.Now(), parts...), t}
}

// three returns histories of three gateways that see an outage of ten minutes, a few seconds after each other. Each
// holds some calls, and at each they are answered in turn.
func three(t *testing.T) (all []*world) {
	for i := range 3 {
		w := newWorld(t, "")
		w.recover(int64(1000*i), "m", 0, 0)
		all = append(all, w)
	}
	time.Sleep(time.Minute)
	for minute := range 10 {
		for i, w := range all {
			w.fail(int64(1000*i+minute%2+1), "m")
			time.Sleep(time.Second)
		}
		time.Sleep(57 * time.Second)
	}
	for i, w := range all {
		for n := range 2 {
			w.recover(int64(1000*i+n+1), "m", 5, 10*time.Minute)
		}
	}
	return all
}

// An incident that several gateways see is one, with what all of them have counted.
func TestSum_IncidentOfAllIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := three(t)
		now := time.Now()
		sum := sumOf(t, all...)
		incidents := sum.Incidents(now)
		if len(incidents) != 1 {
			t.Fatalf("%d incidents, want one: %s", len(incidents), sum.said())
		}
		in := incidents[0]
		got := fmt.Sprintf("%d of %d failed, %d waited, %d held, %d lost, %v, recovered %v", in.Failures, in.Tries, in.Calls, in.Held, in.Lost, in.Replicas, in.RecoveredMs > 0)
		if want := "30 of 33 failed, 6 waited, 6 held, 0 lost, [r0 r1 r2], recovered true"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, w := range all {
			own := w.Incidents(now)[0]
			if own.Calls != 2 || own.Replicas != nil {
				t.Errorf("a gateway's own incident has become %+v", own)
			}
			if !in.Is(own.ID) {
				t.Errorf("%s, by which a gateway knows it, is not known", own.ID)
			}
		}
		if held := sum.Upstream("work", now).Saved; held.Calls != 9 || held.Outages != 1 || held.Retries != 30 || held.Waited != 60*time.Minute {
			t.Errorf("held %+v, want 9 calls, one outage, 30 retries and an hour", held)
		}
	})
}

// A gateway without calls of its own does not keep an incident open that is over at the others.
func TestSum_IncidentEndsWithAnAnswerAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newWorld(t, ""), newWorld(t, "")
		for range 3 {
			a.fail(1, "m")
			b.fail(2, "m")
			time.Sleep(time.Minute)
		}
		if got, want := sumOf(t, a, b).said(), "work 0 to open, 6 of 6 failed"; got != want {
			t.Errorf("in the outage: got %s, want %s", got, want)
		}
		b.recover(2, "m", 3, 3*time.Minute)
		time.Sleep(time.Minute)
		if got, want := sumOf(t, a, b).said(), "work 0 to recovered 3, 6 of 7 failed"; got != want {
			t.Errorf("after an answer at one: got %s, want %s", got, want)
		}
		if h := sumOf(t, a, b).Health("work", breaker.State{Name: "work"}, time.Now()); h.Condition != history.Up {
			t.Errorf("the upstream is %s, want up", h.Condition)
		}
	})
}

// The cause that an upstream is shown with is that of the gateway where it fails, or where it has failed last.
func TestSum_CauseIsThatOfTheLatestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well, failing := newWorld(t, ""), newWorld(t, "")
		well.try(1, "m", time.Second, &fault.Error{Kind: fault.Unavailable})
		time.Sleep(time.Second)
		well.recover(1, "m", 1, time.Second)
		for range 3 {
			failing.fail(2, "n")
			time.Sleep(time.Second)
		}
		for _, all := range [][]*world{{well, failing}, {failing, well}} {
			if got := sumOf(t, all...).Upstream("work", time.Now()).Cause; got != "server overloaded" {
				t.Errorf("the upstream fails with %s, want server overloaded", got)
			}
		}
	})
}

// What a gateway has left open that runs no more is over.
func TestSum_GoneGatewayLeavesNothingOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		for range 3 {
			w.fail(1, "m")
			time.Sleep(time.Minute)
		}
		w.keep()
		killed := newWorld(t, path).History
		time.Sleep(time.Hour)
		sum := &world{history.Sum(time.Now(), history.Part{History: killed, Name: "r0", Over: true}), t}
		if got, want := sum.said(), "work 0 to unknown 2, 3 of 3 failed"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Calls that wait for another gateway's probe belong to the incident, though nothing was sent for them here.
func TestHistory_CallsThatShareAFaultOfTheFleetBelongToTheIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		shared := &fault.Error{Kind: fault.Overloaded, Status: 529, Rule: breaker.SharedRule}
		w.Watch(&gateway.Event{At: time.Now(), Call: w.call(1, "m"), Try: retry.Try{N: 1, Start: time.Now(), Fault: shared, Shared: true}})
		w.tell(1, "m", turn.Retry{Wait: policy.Wait{Fault: shared}})
		time.Sleep(time.Minute)
		w.recover(1, "m", 1, time.Minute)
		in := w.Incidents(time.Now())
		if got, want := w.said(), "work 0 to recovered 1, 0 of 1 failed"; got != want || in[0].Calls != 1 || in[0].Held != 1 {
			t.Errorf("got %s with %+v; want %s, with one call that was held", got, in, want)
		}
	})
}
