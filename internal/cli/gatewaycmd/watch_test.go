package gatewaycmd

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
)

// lockable is a gateway whose circuit breakers may be locked.
type lockable struct {
	server.Gateway
	lock chan struct{}
}

func (lockable) Act(int64, gateway.Command) bool { return false }

func (g lockable) Upstreams() []gateway.Health {
	g.lock <- struct{}{}
	<-g.lock
	return nil
}

func TestServe_WatchNamesWhatHasFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c serveCmd
		release, g := make(chan struct{}), lockable{lock: make(chan struct{}, 1)}
		watch, end := queueEvents(func(*gateway.Event) { <-release }, c.dog.Loop("the loop of events"))
		served := server.Config{Gateway: g, Feed: live.NewFeed()}
		stop := c.watch(t.Context(), &served)
		defer stop()
		check := func(when, want string) {
			t.Helper()
			time.Sleep(8 * WatchdogInterval)
			if got := served.Frozen(); got != want {
				t.Errorf("Frozen %s: got %q, want %q", when, got, want)
			}
		}
		check("while all is well", "")
		watch(gateway.Event{})
		check("with an event that is never handled", "the loop of events has not moved for 30s; restart the program")
		g.lock <- struct{}{}
		check("with a lock that is never released as well",
			"the loop of events and a circuit breaker of the gateway have not moved for 30s; restart the program")
		close(release)
		<-g.lock
		check("once both go on", "")
		end()
	})
}
