// Package server is the handler of `ridethrough serve`. It stands before the gateway and refuses what must
// not reach it: clients without the token, pages of other sites, requests that never end. Below /-/ it
// answers the HTTP API: what waits and for what (package live), events (feed), and what its extensions add. At
// /-/ui/ it serves the page.
//
// It knows no provider and never retries. docs/api.md and docs/conversations.md are its manuals.
package server

import (
	"context"
	"crypto/tls"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/statusfeed"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/internal/receive"
	"github.com/ridethrough/ridethrough/internal/server/audit"
	"github.com/ridethrough/ridethrough/internal/server/feed"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/stream"
	"github.com/ridethrough/ridethrough/turn"
)

// Gateway is what stands behind the server: *gateway.Gateway, or a test's.
type Gateway interface {
	http.Handler
	live.Gateway
	Drain()
	Close()
	WaitSockets(ctx context.Context) error
}

// Replica makes a gateway a part of a fleet. It is the gateway that is served then: *replica.Replica.
type Replica interface {
	Gateway
	Fleet() *gateway.Fleet // for the gateway's configuration
	Join(*gateway.Gateway, *tenant.Table)
	Leave() // once nothing is served any more
}

// Config is what is served, and to whom.
type Config struct {
	Gateway  Gateway
	Feed     *feed.Feed                              // of the gateway's events; nil: /-/events stays silent
	Policies func() []Policy                         // what /-/policies shows; nil: nothing
	Metrics  http.Handler                            // answers /-/metrics; nil: there are none
	History  *history.History                        // what was measured; nil: nothing is
	Shown    func() *history.History                 // what of that is shown, that of a fleet; nil: History
	Vendor   func(upstream string) statusfeed.Status // what its provider's status page says; nil: no page is read
	Warnings func() []string                         // what /-/warnings shows besides the store's; nil: nothing
	Frozen   func() string                           // names the loops of the program that have frozen, for /-/livez; "" and nil: none
	Programs func() []Program                        // what /-/setup shows, asked for when it does; nil: none
	Page     fs.FS                                   // the files of the page at /-/ui/, with an index.html; NAME.gz is NAME with gzip; nil: there is none

	Extensions    []Extension                           // that are served below /-/ as well; nil: none
	OpenAPI       string                                // describes them, with gzip; "": nothing does
	Conversations live.Conversations                    // that are shown beside the gateway's requests; nil: there are none
	Store         func() (warnings []string, err error) // the health of their store; nil: there is none

	Fleet   *fleet.Fleet // of which the gateway is a replica; nil: it is on its own
	Replica Replica      // its part in that; nil likewise
	// Share joins the breaker and the limits of an upstream with those of the other replicas; nil: there are none.
	Share gateway.Share

	OnTurn func(*gateway.Event) // gets what happens in turns, see package turns; nil: nothing does
	// Group begins the span of a council, see package turns; nil: it has none.
	Group func(face, id, parent string) (span string, end func(turn.Status))

	TLS     *tls.Config           // nil: the server speaks plain HTTP
	Token   string                // that permits everything; "": none
	Tokens  func() []access.Token // those that are valid now, besides Token; nil: none. Without both, requests need none
	Tenants *tenant.Table         // the accounts of the tokens; nil: they have no limits, and nothing is counted
	Audit   *audit.Log            // of actions; nil: they are in Log only
	Hosts   []string              // names of the server, without ports, besides this machine's own
	Origins []string              // of web pages that may use the server, besides its own; an origin is SCHEME://HOST[:PORT]
	Grace   time.Duration         // how long answers in progress may go on at shutdown; 0: 10 s
	Log     *slog.Logger          // nil: slog.Default()
	Version string                // for the index
}

// Extension is what a server serves below /-/ besides the gateway: conversations, or councils.
type Extension interface {
	// Operations returns its operations for a server. It is called once.
	Operations(stream.Server) []rest.Operation
}

// Server is the handler. Its methods may be called concurrently.
type Server struct {
	config       Config
	since        time.Time      // when it was made, for the index
	single       []access.Token // Token
	guesses      access.Guesses
	hosts        map[string]bool
	origins      map[string]bool
	guards       http.Header      // of every answer that a browser may show
	page         map[string]asset // by name
	mux          *http.ServeMux   // of the routes
	routes       []rest.Route     // below /-/
	readers      *stream.Readers
	refusals     refusals // for the want of a token
	refusedPages refusals
}

// New returns a server. [Server.Run] serves it; as a handler in another server it leaves the bounds of
// connections and headers to that one.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Feed == nil {
		c.Feed = feed.New()
	}
	if c.Policies == nil {
		c.Policies = func() []Policy { return nil }
	}
	if c.Frozen == nil {
		c.Frozen = func() string { return "" }
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Audit == nil {
		c.Audit = audit.New(c.Log)
	}
	s := &Server{
		config:  c,
		since:   time.Now().UTC().Truncate(time.Millisecond),
		hosts:   make(map[string]bool, len(c.Hosts)),
		origins: make(map[string]bool, len(c.Origins)),
		guards:  answerGuards(),
		readers: stream.NewReaders(c.Log),
	}
	if c.Token != "" {
		s.single = []access.Token{{Name: "token", Scope: access.Admin, Hash: access.Hash(c.Token)}}
	}
	for _, host := range c.Hosts {
		s.hosts[hostname(strings.ToLower(host))] = true
	}
	for _, origin := range c.Origins {
		s.origins[origin] = true
	}
	var err error
	if s.page, err = findAssets(c.Page); err != nil {
		c.Log.Error("read the page", "error", err)
	}
	s.route()
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := receive.Bound(w, r, receive.Unread())
	if mayBeShown(r) {
		maps.Copy(w.Header(), s.guards)
	}
	switch {
	case !s.isNamed(r.Host, r):
		s.refuseHost(w, r)
	case s.isBrowser(r):
		redirectToPage(w)
	case !s.passBrowser(w, r):
	case isOurs(r):
		w.Header().Set("Cache-Control", "no-store")
		s.mux.ServeHTTP(w, r)
	default:
		s.serveGateway(w, r, b)
	}
}

// serveGateway answers a request to an API.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request, b *receive.Body) {
	r, ok := s.accept(w, r)
	if !ok {
		return
	}
	switch {
	case s.needsToken() && hasNoCredential(r):
		s.serveExplained(w, r)
		b.Finish(w)
	default:
		s.config.Gateway.ServeHTTP(w, r)
		b.Finish(w)
	}
}

// accept admits a request to an API, and counts it for its token. False: it was refused.
//
//go:noinline its frame would be on the stack of every request that waits
func (s *Server) accept(w http.ResponseWriter, r *http.Request) (accepted *http.Request, ok bool) {
	who, ok := s.admit(w, r, access.Use)
	if !ok {
		return r, false
	}
	if s.readers.IsDraining() {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Connection", "close")
		reject(w, r, http.StatusServiceUnavailable, "the gateway is shutting down; try again")
		return r, false
	}
	return s.charge(w, r, who.Token)
}

// charge counts a request for its token. False: it is beyond a limit of that, and was refused.
func (s *Server) charge(w http.ResponseWriter, r *http.Request, t access.Token) (charged *http.Request, ok bool) {
	if s.config.Tenants == nil || !s.needsToken() {
		return r, true
	}
	account, refused := s.config.Tenants.Admit(t, time.Now())
	if refused != nil {
		refuseUse(w, r, refused)
		return r, false
	}
	return r.WithContext(gateway.WithTenant(r.Context(), account)), true
}

// serveExplained answers a request without a credential. It is no part of serveGateway, which is on the stack of every
// request that waits.
func (s *Server) serveExplained(w http.ResponseWriter, r *http.Request) {
	e := &refusalExplainer{ResponseWriter: w, r: r}
	s.config.Gateway.ServeHTTP(e, r)
	e.finish()
}

// drain refuses new requests, and ends the streams below /-/ and the gateway's waits.
func (s *Server) drain() {
	if s.readers.Drain() {
		s.config.Gateway.Drain()
	}
}
