package history_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// gateways have their histories in a fleet.
type gateways struct {
	*testing.T
	fleet.Network
}

// start adds a gateway. end leaves the fleet.
func (g *gateways) start(id string) (w *world, end func()) {
	w = newWorld(g.T, "")
	return w, g.join(id, w)
}

// join has a gateway join the fleet.
func (g *gateways) join(id string, w *world) (leave func()) {
	f := fleet.Join(fleet.Config{Name: "main", ID: id, Transport: g.Connect(id)})
	g.Cleanup(f.Close)
	w.Share(f)
	time.Sleep(5 * time.Second)
	return f.Close
}

// meets has a gateway meet an incident that holds a number of calls for some minutes, and ends if it recovers.
func (w *world) meets(calls int, lasts time.Duration, recovers bool) {
	for id := range max(3, calls) {
		w.try(int64(id), "m", time.Second, busy)
		if id < calls {
			w.tell(int64(id), "m", turn.Retry{Wait: policy.Wait{Fault: busy}})
		}
	}
	time.Sleep(lasts)
	if recovers {
		w.recover(0, "m", 1, lasts)
	}
}

// shows lists the incidents that a gateway shows, the oldest first, in minutes since the year 2000.
func (w *world) shows() string {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	span := func(began, ended time.Time, recoveredMs int64) string {
		switch {
		case ended.IsZero():
			return fmt.Sprintf("%.0f to open", began.Sub(epoch).Minutes())
		case recoveredMs > 0:
			return fmt.Sprintf("%.0f to recovered %.0f", began.Sub(epoch).Minutes(), ended.Sub(epoch).Minutes())
		}
		return fmt.Sprintf("%.0f to unknown %.0f", began.Sub(epoch).Minutes(), ended.Sub(epoch).Minutes())
	}
	var all []string
	for _, in := range w.FleetIncidents(time.Now()) {
		one := fmt.Sprintf("%s %s, %d failed, %d calls", in.Upstream, span(in.Began, in.Ended, in.RecoveredMs), in.Failures, in.Calls)
		for _, e := range in.Elsewhere {
			one += fmt.Sprintf(" [%s %s, %d calls]", e.Replica, span(e.Began, e.Ended, e.RecoveredMs), e.Calls)
		}
		if in.Open != in.Ended.IsZero() {
			one += " AND IS OPEN"
		}
		all = append([]string{one}, all...)
	}
	return strings.Join(all, "; ")
}

func (w *world) check(when, want string) {
	w.t.Helper()
	if got := w.shows(); got != want {
		w.t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

// Each gateway shows which incidents the others have met: with its own, if that is the same one, or alone.
func TestHistory_ShowsTheIncidentsOfTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{T: t}
		a, _ := g.start("a")
		b, _ := g.start("b")
		c, _ := g.start("c")
		a.meets(2, time.Minute, false)
		b.meets(5, time.Minute, false)
		a.check("both have met it", "work 0 to open, 3 failed, 2 calls [b 1 to open, 5 calls]")
		b.check("at the other one", "work 1 to open, 5 failed, 5 calls [a 0 to open, 2 calls]")
		c.check("at one that has not met it", "work 0 to open, 0 failed, 0 calls [a 0 to open, 2 calls] [b 1 to open, 5 calls]")
		a.recover(0, "m", 1, time.Minute)
		time.Sleep(time.Minute)
		c.check("over at the first", "work 0 to open, 0 failed, 0 calls [a 0 to recovered 2, 2 calls] [b 1 to open, 5 calls]")
		b.recover(0, "m", 1, time.Minute)
		time.Sleep(time.Minute)
		c.check("over at both", "work 0 to recovered 3, 0 failed, 0 calls [a 0 to recovered 2, 2 calls] [b 1 to recovered 3, 5 calls]")
		if own := c.Incidents(time.Now()); len(own) != 0 {
			t.Errorf("its own incidents, of which it gives notice: got %+v, want none", own)
		}
		time.Sleep(time.Hour)
		c.meets(1, time.Minute, true)
		time.Sleep(5 * time.Second)
		a.check("another one", "work 0 to recovered 2, 3 failed, 2 calls [b 1 to recovered 3, 5 calls]; work 64 to recovered 65, 0 failed, 0 calls [c 64 to recovered 65, 1 calls]")
	})
}

// What a gateway has met that is gone is known, as over, also to one that comes later.
func TestHistory_IncidentsOutliveTheirGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{T: t}
		a, end := g.start("a")
		b, _ := g.start("b")
		a.meets(2, 2*time.Minute, false)
		b.check("while it lives", "work 0 to open, 0 failed, 0 calls [a 0 to open, 2 calls]")
		end()
		time.Sleep(time.Minute)
		c, _ := g.start("c")
		for name, w := range map[string]*world{"b": b, "the later one": c} {
			w.check("when it has gone, at "+name, "work 0 to unknown 0, 0 failed, 0 calls [a 0 to unknown 0, 2 calls]")
		}
	})
}

func TestHistory_IncidentsAreSharedForAWeek(t *testing.T) {
	for after, want := range map[time.Duration]string{6 * 24 * time.Hour: "work 0 to recovered 1, 0 failed, 0 calls [a 0 to recovered 1, 1 calls]", 8 * 24 * time.Hour: ""} {
		synctest.Test(t, func(t *testing.T) {
			g := &gateways{T: t}
			a := newWorld(t, "")
			a.meets(1, time.Minute, true)
			time.Sleep(after)
			g.join("a", a)
			b, _ := g.start("b")
			b.check(fmt.Sprint("after ", after), want)
		})
	}
}

// A gateway without a connection shows what it knew. What another version or a stranger has put is left out.
func TestHistory_ShowsNoNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{T: t}
		a, _ := g.start("a")
		stranger := fleet.Join(fleet.Config{Name: "main", ID: "x", Transport: g.Connect("x")})
		defer stranger.Close()
		time.Sleep(5 * time.Second)
		now := time.Now()
		m := fleet.NewMap(stranger, "incidents", fleet.Options[history.Elsewhere]{MaxTTL: time.Hour, OfOne: 10, OfAll: 10})
		m.Put("never began", history.Elsewhere{Upstream: "work"}, time.Hour)
		m.Put("ended before", history.Elsewhere{Upstream: "work", Began: now, Ended: now.Add(-time.Minute)}, time.Hour)
		m.Put("below zero", history.Elsewhere{Upstream: "work", Began: now, Calls: -1, RecoveredMs: -1}, time.Hour)
		time.Sleep(time.Minute)
		a.check("of a stranger", "work 0 to open, 0 failed, 0 calls [x 0 to open, 0 calls]")
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
