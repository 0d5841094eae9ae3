package server_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
)

// shownNext is what an upstream and a wait for it say about what comes next.
type shownNext struct {
	Until   time.Time
	Outages []struct{ Name string }
	Outage  string
}

func TestUpstreams_UntilIsTheFirstOfProbeAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := breaker.Outage{Level: "model", Scope: breaker.Scope{Model: "claude", Credential: "0123456789"}, Fault: &fault.Error{Kind: fault.Overloaded}}
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		for name, c := range map[string]struct {
			set  func(o *breaker.Outage, w *gateway.Wait)
			want time.Time // zero: now, or unknown
		}{
			"the probe before the retry": {func(o *breaker.Outage, w *gateway.Wait) { o.Next = in(11 * time.Second) }, in(11 * time.Second)},
			"the retry before the probe": {func(o *breaker.Outage, w *gateway.Wait) { o.Next = in(50 * time.Second) }, in(41 * time.Second)},
			"a probe in progress":        {func(o *breaker.Outage, w *gateway.Wait) { o.Probing = true }, time.Time{}},
			"a try in progress":          {func(o *breaker.Outage, w *gateway.Wait) { w.State, w.Due = "trying", time.Time{} }, time.Time{}},
			"a request behind the probe": {func(o *breaker.Outage, w *gateway.Wait) {
				o.Next, w.State, w.Due = in(time.Second), "queued", time.Time{}
			}, in(time.Second)},
			"a usage window is not asked": {func(o *breaker.Outage, w *gateway.Wait) {
				o.Next, o.Fault = in(time.Second), &fault.Error{Kind: fault.Quota, Window: true}
			}, in(41 * time.Second)},
		} {
			o, w := fails, waiting(17, 41*time.Second)
			c.set(&o, &w)
			w.Outage = o
			g := &fake{waits: []gateway.Wait{w}, upstreams: []gateway.Health{{Name: "work", Breaker: breaker.State{Outages: []breaker.Outage{o}}}}}
			s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: g})
			var u, v shownNext
			for path, to := range map[string]*shownNext{"/-/upstreams/work": &u, "/-/waits/17": &v} {
				if err := json.Unmarshal(ask(s, request("GET", path, "")).Body.Bytes(), to); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			if !u.Until.Equal(c.want) {
				t.Errorf("%s: until is %v, want %v", name, u.Until, c.want)
			}
			if want := "model claude 01234…"; u.Outages[0].Name != want || v.Outage != want {
				t.Errorf("%s: the outage is %q and the wait names %q, want %q", name, u.Outages[0].Name, v.Outage, want)
			}
		}
	})
}
