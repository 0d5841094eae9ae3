// Package live shows what waits, the upstreams, the incidents and the newest conversations, and lets clients
// act on waits and upstreams. Each list is answered once or followed as a stream of its changes; /-/live
// follows all of them in one stream, for the page.
package live

import (
	"context"
	"iter"
	"log/slog"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/statusfeed"
	"github.com/ridethrough/ridethrough/internal/server/feed"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/stream"
)

// Gateway is what is shown of a gateway: *gateway.Gateway, or a test's.
type Gateway interface {
	Waits() []gateway.Wait
	Act(id int64, do gateway.Command) bool
	Upstreams() []gateway.Health
	ActOn(upstream string, do gateway.Command) bool
}

// Conversations are what is shown of conversations: *conversations.API, or a test's.
type Conversations interface {
	// Waits returns the oldest turns that wait, n at most, and the number of all.
	Waits(n int) (oldest iter.Seq[TurnWait], all int)
	// Recent returns the newest conversations, n at most; with an error those that it knows.
	Recent(ctx context.Context, n int) ([]Recent, error)
	// Upstreams returns the providers that turns have asked or wait for, with the number of turns that wait for each.
	Upstreams() iter.Seq2[breaker.State, int]
	// ActOn retries or gives up the turns that wait for a provider.
	ActOn(ctx context.Context, provider string, do gateway.Command) error
	// Subscribe reads the events of a conversation after one, as stream.Subscribe does. That it does not exist is an
	// error of the events.
	Subscribe(ctx context.Context, id string, after int64) (items <-chan stream.Item, stop func())
}

// Config is what is shown, and to whom.
type Config struct {
	Gateway       Gateway
	Conversations Conversations                           // nil: there are none
	History       *history.History                        // of this gateway; nil: nothing is measured
	Shown         func() *history.History                 // what is shown of it, that of a fleet; nil: History
	Vendor        func(upstream string) statusfeed.Status // what its provider's status page says; nil: no page is read
	Warnings      func() []string                         // what needs attention, in sentences; nil: nothing does
	Feed          *feed.Feed
	Readers       *stream.Readers
	Log           *slog.Logger
	Version       string
	Replica       string // this gateway's name in its fleet; "": it is in none
	Token         bool   // requests need the token
}

// Live answers the routes of this package. Its methods may be called concurrently.
type Live struct {
	Config
	waits         list
	turns         list
	tallies       list
	upstreams     list
	incidents     list
	conversations list
	warnings      list
	measured      measurements
	traffic       lastTraffic
}

// history returns what was measured; nil: nothing was.
func (l *Live) history() *history.History {
	if l.Shown != nil {
		return l.Shown()
	}
	return l.History
}

// New returns the routes' handlers. All of the configuration is needed but what says otherwise.
func New(c Config) *Live {
	l := &Live{Config: c}
	callEnd := func(k key) (feed.End, bool) { return c.Feed.CallEnd(k.number) }
	turnEnd := func(k key) (feed.End, bool) { return c.Feed.TurnEnd(k.text) }
	l.waits = list{one: "wait", all: "waits", load: func() []item { return itemsOf(l.loadCalls()) }, end: callEnd}
	l.turns = list{one: "turn", all: "turns", load: func() []item { return itemsOf(l.loadTurns()) }, end: turnEnd}
	l.tallies = list{one: "count", all: "counts", load: func() []item { return itemsOf(l.loadTallies()) }}
	l.upstreams = list{one: "upstream", all: "upstreams", load: func() []item { return itemsOf(l.loadUpstreams()) }}
	l.incidents = list{one: "incident", all: "incidents", load: func() []item { return itemsOf(l.loadIncidents()) }}
	l.conversations = list{one: "conversation", all: "conversations", load: func() []item { return itemsOf(l.loadRecent()) }}
	l.warnings = list{one: "warning", all: "warnings", load: func() []item { return itemsOf(l.loadWarnings()) }}
	return l
}

// Routes returns the routes of the lists.
func (l *Live) Routes() []rest.Route {
	shows, acts := rest.ReadMethods(), append(rest.ReadMethods(), http.MethodPost)
	return []rest.Route{
		{Path: "/-/waits", Methods: shows, What: "the requests that wait; as text/event-stream, with changes", Serve: l.waits.serve(l.Readers)},
		{Path: "/-/waits/{id}", Methods: acts, What: `one of them; POST {"do":"now"}, or pause, resume, give-up`, Serve: l.serveWait},
		{Path: "/-/upstreams", Methods: shows, What: "the upstreams; as text/event-stream, with changes", Serve: l.upstreams.serve(l.Readers)},
		{Path: "/-/upstreams/{name}", Methods: acts, What: `one of them; POST {"do":"now"}, or pause, resume, give-up, for all its waits`, Serve: l.serveUpstream},
		{Path: "/-/incidents", Methods: shows, What: "when upstreams failed; as text/event-stream, with changes", Serve: l.incidents.serve(l.Readers)},
		{Path: "/-/incidents/{id}", Methods: shows, What: "one of them and its course; as text/plain or text/markdown: a report", Serve: l.serveIncident},
		{Path: "/-/traffic", Methods: shows, What: "what passed in the last hour and day, and what waiting has achieved", Serve: l.serveTraffic},
		{Path: "/-/requests", Methods: shows, What: "the latest requests that have ended; ?upstream=, outcome=, client=, text=, limit=", Serve: l.serveRequests},
		{Path: "/-/warnings", Methods: shows, What: "what needs attention; as text/event-stream, with changes", Serve: l.warnings.serve(l.Readers)},
		{Path: "/-/live", Methods: shows, What: "all of this in one stream, for a page", Serve: l.serveLive},
	}
}
