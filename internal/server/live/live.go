// Package live shows what waits, the upstreams, the incidents and the newest conversations, and lets clients
// act on waits and upstreams. Each list is answered once or followed as a stream of its changes; /-/live
// follows all of them in one stream, for the page. A [Feed] publishes what happens at the gateway and in turns as
// public events, and keeps the latest of them for readers that reconnect: it is behind /-/events.
package live

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// Gateway is the gateway that is shown: *gateway.Gateway, or a test's.
type Gateway interface {
	Waits() []gateway.Wait
	Act(id int64, do gateway.Command) bool
	Upstreams() []gateway.Health
	ActOn(upstream string, do gateway.Command) bool
}

// Conversations are the conversations that are shown: *conversations.API, or a test's.
type Conversations interface {
	// Waits returns the oldest turns that wait, n at most, and the number of all.
	Waits(n int) (oldest iter.Seq[TurnWait], all int)
	// Recent returns the newest conversations, n at most; with an error those that it knows.
	Recent(ctx context.Context, n int) ([]Recent, error)
	// Upstreams returns the upstreams that turns have asked or wait for, with the number of turns that wait for each.
	Upstreams() iter.Seq2[breaker.State, int]
	// ActOn acts on the turn of a conversation that waits, or, if conversation is "", retries or gives up all that wait
	// for a provider. A *api.Problem says why not.
	ActOn(ctx context.Context, provider, conversation string, do gateway.Command) error
	// Subscribe reads the events of a conversation after one, as rest.Subscribe does. That it does not exist is an
	// error of the events.
	Subscribe(ctx context.Context, id string, after int64) (items <-chan rest.Item, stop func())
}

// Config is what is shown, and to whom.
type Config struct {
	Gateway       Gateway
	Conversations Conversations                          // nil: no conversations
	History       *history.History                       // of this gateway; nil: nothing is measured
	Vendor        func(upstream string) notify.Status    // what its provider's status page says; nil: no page is read
	Warnings      func() []string                        // what needs attention, in sentences; nil: nothing does
	Choices       func() (model string, agents []string) // the default model of conversations, and the agents that they may have; nil: not known
	Feed          *Feed
	Readers       *rest.Readers
	Log           *slog.Logger
	Version       string
	Replica       string // this gateway's name in its fleet; "": it is in none
	Token         bool   // requests need the token
}

// Live answers the routes of this package. Its methods may be called concurrently.
type Live struct {
	Config
	all           list // waits and turns
	waits         list
	turns         list
	tallies       list
	upstreams     list
	incidents     list
	conversations list
	warnings      list
	measured      measurements
}

// New returns the routes' handlers. All fields of the configuration are required unless they say otherwise.
func New(c Config) *Live {
	l := &Live{Config: c, measured: measurements{byName: map[string]measurement{}}}
	l.waits = list{one: "wait", all: "waits", load: func() []item { return itemsOf(l.loadCalls()) }, end: c.Feed.endOf}
	l.all = list{one: "wait", all: "waits", load: l.loadWaits, end: c.Feed.endOf}
	l.turns = list{one: "turn", all: "turns", load: func() []item { return itemsOf(l.loadTurns()) }, end: c.Feed.endOf}
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
		{Path: "/-/waits", Methods: shows, What: "the requests and turns that wait; as text/event-stream, with changes", Serve: l.all.serve(l.Readers)},
		{Path: "/-/waits/{id}", Methods: acts, What: `one of them; POST {"do":"now"}, or pause, resume, give-up`, Serve: l.serveWait},
		{Path: "/-/upstreams", Methods: shows, What: "the upstreams; as text/event-stream, with changes", Serve: l.upstreams.serve(l.Readers)},
		{Path: "/-/upstreams/{name}", Methods: acts, What: `one of them; POST {"do":"now"}, or pause, resume, give-up, for all its waits`, Serve: l.serveUpstream},
		{Path: "/-/incidents", Methods: shows, What: "when upstreams failed; as text/event-stream, with changes", Serve: l.incidents.serve(l.Readers)},
		{Path: "/-/incidents/{id}", Methods: shows, What: "one of them; as text/plain or text/markdown: a report", Serve: l.serveIncident},
		{Path: "/-/requests", Methods: shows, What: "the latest requests that have ended; ?upstream=, outcome=, client=, text=, limit=", Serve: l.serveRequests},
		{Path: "/-/warnings", Methods: shows, What: "what needs attention; as text/event-stream, with changes", Serve: l.warnings.serve(l.Readers)},
		{Path: "/-/live", Methods: shows, What: "all of this in one stream, for a page", Serve: l.serveLive},
	}
}

type warning struct {
	Text string `json:"text"`
}

func (w *warning) key() key { return key{text: w.Text} }

func (w *warning) same(other item) bool { return *w == *other.(*warning) }

func (l *Live) loadWarnings() []warning {
	all := []warning{}
	if l.Warnings == nil {
		return all
	}
	for _, text := range l.Warnings() {
		if w := (warning{text}); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

type hello struct {
	Version       string `json:"version,omitzero"`
	Boot          string `json:"boot"`             // names the process
	Replica       string `json:"replica,omitzero"` // this gateway's name in its fleet; left out: it is in none
	Token         bool   `json:"token"`            // requests need a token
	Acts          bool   `json:"acts"`             // that of this one permits actions
	Conversations bool   `json:"conversations"`    // there are conversations

	Model  string   `json:"model,omitzero"`   // of a conversation that names none; left out: there is no such model
	Agents []string `json:"agents,omitempty"` // that a conversation may have
}

// serveLive streams all lists and their changes, and the events of the conversation that the request names, on one
// connection: a browser has few connections to a server.
func (l *Live) serveLive(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, err := rest.Number("after", cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")))
	if err != nil {
		rest.WriteProblem(w, rest.ProblemOf(l.Log, r, err))
		return
	}
	out := l.Readers.Open(w, r)
	if out == nil {
		return
	}
	defer out.Close()
	events, stop := l.subscribe(r.Context(), q.Get("conversation"), after)
	defer stop()
	first := hello{Version: l.Version, Boot: l.Feed.boot, Replica: l.Replica, Token: l.Token, Acts: access.ScopeOf(r.Context()).Has(access.Act), Conversations: l.Conversations != nil}
	if l.Choices != nil {
		first.Model, first.Agents = l.Choices()
	}
	out.Write("hello", rest.JSON(first))
	lists := []*list{&l.waits, &l.turns, &l.tallies, &l.upstreams, &l.incidents, &l.conversations, &l.warnings} // in this order
	versions := make([]int, len(lists))
	for i, list := range lists {
		versions[i] = list.begin(&out.Buffer, list.all)
		defer list.leave()
	}
	follow(out, lists, versions, events)
}

func follow(out *rest.Stream, lists []*list, versions []int, events <-chan rest.Item) {
	ticker := time.NewTicker(refreshTime)
	defer ticker.Stop()
	for out.FlushBatch(len(events) > 0) {
		e, came, ok := rest.Next(out, ticker.C, events)
		switch {
		case !ok:
			return
		case !came:
			for i, list := range lists {
				versions[i] = list.changesSince(versions[i], &out.Buffer, list.all)
			}
		case e.Err == nil:
			out.WriteItem(e)
		default:
			events = nil
			out.WriteError("conversation-problem", e.Err)
		}
	}
}

// subscribe reads the events of a conversation after one; none if id is "". An unknown conversation is an error of
// the events: the stream has other things to show.
func (l *Live) subscribe(ctx context.Context, id string, after int64) (events <-chan rest.Item, stop func()) {
	switch {
	case id == "":
		return nil, func() {}
	case l.Conversations == nil:
		return rest.Failed(rest.Problem(http.StatusNotFound, "no such conversation"))
	}
	return l.Conversations.Subscribe(ctx, id, after)
}

const recentBound = 100

// Recent is one of the newest conversations, as JSON.
type Recent struct {
	api.Summary
	TurnID  string `json:"turnId,omitzero"`  // the turn in progress; left out: none is
	Waiting bool   `json:"waiting,omitzero"` // that turn waits for its provider
}

func (v *Recent) key() key { return key{text: v.ID} }

func (v *Recent) same(other item) bool { return *v == *other.(*Recent) }

// loadRecent returns the newest conversations, or those known so far if the store does not answer.
func (l *Live) loadRecent() []Recent {
	if l.Conversations == nil {
		return []Recent{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	all, err := l.Conversations.Recent(ctx, recentBound)
	if err != nil {
		l.Log.Debug("list newest conversations", "error", err)
	}
	return all
}
