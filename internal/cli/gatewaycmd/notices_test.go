package gatewaycmd

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/retry"
)

// well is a gateway without outages.
type well struct{}

func (well) Upstreams() []gateway.Health { return []gateway.Health{{Name: "work"}} }

func TestServe_NoticesFollowTheIncidentsOfWhatIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		served := server.Config{Log: log, History: history.Open("", log), Warnings: func() []string { return []string{"another"} }}
		var sent atomic.Int64
		target := notify.Target{Name: "team", Kind: notify.Webhook, URL: func() (string, error) {
			sent.Add(1)
			return "", errors.New("the file is gone")
		}}
		var c serveCmd
		told := c.notices(t.Context(), notify.Settings{After: time.Minute}, well{}, &served)
		fail := func() {
			for range 3 {
				served.History.Watch(&gateway.Event{At: time.Now(), Call: gateway.Call{Upstream: "work"}, Try: retry.Try{N: 1, Start: time.Now(), Fault: &fault.Error{Kind: fault.Overloaded}}})
			}
			time.Sleep(2 * time.Minute)
		}
		told.use(notify.Settings{After: time.Minute, Targets: []notify.Target{target}}) // a configuration that has changed
		fail()
		if n := sent.Load(); n != 1 {
			t.Errorf("notices of an incident: got %d, want 1", n)
		}
		if got := strings.Join(served.Warnings(), "; "); got != "another; Notices do not reach team (webhook): the file is gone" {
			t.Errorf("warnings: got %q, want the others and the target's", got)
		}
		told.stop()
	})
}
