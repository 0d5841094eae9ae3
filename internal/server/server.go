// Package server is the handler of `ridethrough serve`. It stands in front of
// the gateway and keeps out what must not reach it: other people, web pages,
// requests that never end. Beside it, below /-/, it shows programs and people
// who waits and for what, and lets them act on it; a page at /-/ui/, whose files
// are somebody else's, shows the same to people who would rather look.
//
// Below /-/conversations it lets them have conversations that outlive it, and at
// /-/councils several models asked at once.
//
// It knows no provider and tries nothing again. docs/api.md is its manual, and
// docs/conversations.md that of the conversations.
package server

import (
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// Gateway is what stands behind the server. It has more methods than an
// interface should because it is one thing: *gateway.Gateway, or a test's.
type Gateway interface {
	http.Handler
	Waits() []gateway.Wait
	Act(id int64, do gateway.Command) bool
	Upstreams() []gateway.Health
	ActOn(upstream string, do gateway.Command) bool
	Drain()
	Close()
}

// Config says what is served, and to whom.
type Config struct {
	Gateway  Gateway
	Feed     *Feed            // of the gateway's events; nil: /-/events stays silent
	Policies func() []Policy  // what /-/policies shows; nil: nothing
	Metrics  http.Handler     // answers /-/metrics; nil: there are none
	History  *history.History // what was measured; nil: nothing is
	Page     fs.FS            // the files of the page at /-/ui/, of which index.html is the first; nil: there is none

	Conversations *conversation.Runner                                       // of the conversations; nil: there are none
	Settle        func(conversation.Settings) (conversation.Settings, error) // completes and checks what a conversation is made with; nil: takes it as it is

	Council func(models []string, judge string) (council.Council, error) // of models by their names, "": the usual judge; nil: there are none

	Token   string        // what every request has to bring; "": nothing, for a server on a loopback address only
	Hosts   []string      // names, without ports, that it is reached by besides this machine's own
	Grace   time.Duration // how long answers that are under way may go on when it ends; 0: 10 s
	Log     *slog.Logger  // nil: slog.Default()
	Version string        // for the index; ""
}

// Server is the handler. Its methods may be called by many goroutines at the
// same time.
type Server struct {
	config    Config
	token     [sha256.Size]byte
	hosts     map[string]bool
	board     *http.ServeMux // what is below /-/
	routes    []route
	page      map[string]leaf // by name
	origins   *http.CrossOriginProtection
	waits     follower[int64, wait]
	upstreams follower[string, upstream]
	turns     follower[string, turnWait]
	tallies   follower[string, tally]
	recent    follower[string, recent]
	incidents follower[string, incident]
	measures  measures
	strangers strangers
	councils  atomic.Int64   // that sit
	streams   atomic.Int64   // readers of streams below /-/
	sockets   sync.WaitGroup // those of them that net/http does not wait for

	draining  chan struct{} // closed when the server begins to end
	drainOnce sync.Once
}

// New makes a server. Run serves; as a handler in another server it leaves the
// bounds of connections and headers to that one.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Feed == nil {
		c.Feed = NewFeed()
	}
	if c.Settle == nil {
		c.Settle = func(s conversation.Settings) (conversation.Settings, error) { return s, nil }
	}
	if c.Policies == nil {
		c.Policies = func() []Policy { return nil }
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	s := &Server{
		config:   c,
		token:    sha256.Sum256([]byte(c.Token)),
		hosts:    make(map[string]bool, len(c.Hosts)),
		origins:  http.NewCrossOriginProtection(),
		draining: make(chan struct{}),
	}
	for _, host := range c.Hosts {
		s.hosts[hostname(strings.ToLower(host))] = true
	}
	s.waits = follower[int64, wait]{one: "wait", all: "waits", load: s.loadWaits, same: wait.same, fate: s.config.Feed.ended}
	s.upstreams = follower[string, upstream]{one: "upstream", all: "upstreams", load: s.loadUpstreams, same: upstream.same}
	s.turns = follower[string, turnWait]{one: "turn", all: "turns", load: s.loadTurns, same: turnWait.same, fate: s.config.Feed.settled}
	s.tallies = follower[string, tally]{one: "count", all: "counts", load: s.loadTallies, same: equals[tally]}
	s.recent = follower[string, recent]{one: "conversation", all: "conversations", load: s.loadRecent, same: equals[recent]}
	s.incidents = follower[string, incident]{one: "incident", all: "incidents", load: s.loadIncidents, same: incident.same}
	var err error
	if s.page, err = leaves(c.Page); err != nil {
		c.Log.Error("there is no page", "error", err)
	}
	s.route()
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := bounded(w, r)
	switch {
	case !s.named(r.Host, r):
		guard(w.Header())
		s.misdirected(w, r)
	case ours(r):
		guard(w.Header())
		s.serveBoard(w, r)
	case s.browses(r):
		guard(w.Header())
		lead(w)
	case s.foreign(r):
		reject(w, r, http.StatusForbidden, "requests of web pages are not served, and this one's Origin is another site")
	case !s.admit(r):
		s.strange(w, r)
	case s.ending():
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Connection", "close")
		reject(w, r, http.StatusServiceUnavailable, "the gateway is shutting down; try again")
	case s.config.Token != "" && bare(r):
		e := &explainer{ResponseWriter: w, r: r}
		s.config.Gateway.ServeHTTP(e, r)
		e.end()
		b.finish(w)
	default:
		s.config.Gateway.ServeHTTP(w, r)
		b.finish(w)
	}
}

// ending tells whether the server has begun to end.
func (s *Server) ending() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// drain refuses new requests from now on, and ends the streams below /-/ and
// the gateway's waits.
func (s *Server) drain() {
	s.drainOnce.Do(func() {
		close(s.draining)
		s.config.Gateway.Drain()
	})
}
