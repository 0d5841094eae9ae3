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
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/turn"
)

// Gateway is served by the server: *gateway.Gateway, or a test's.
type Gateway interface {
	http.Handler
	live.Gateway
	Drain()
	Close()
	WaitSockets(ctx context.Context) error
}

// Replica makes a gateway part of a fleet and is served in its place: *replica.Replica.
type Replica interface {
	Gateway
	Fleet() *gateway.Fleet // for the gateway's configuration
	Join(*gateway.Gateway, *tenant.Table)
	Leave() // once nothing is served any more
}

// Config is what is served, and to whom.
type Config struct {
	Gateway  Gateway
	Feed     *live.Feed                          // of the gateway's events; nil: /-/events stays silent
	Policies func() []Policy                     // what /-/policies shows; nil: nothing
	Metrics  http.Handler                        // answers /-/metrics; nil: no metrics
	History  *history.History                    // what was measured; nil: nothing is
	Vendor   func(upstream string) notify.Status // what its provider's status page says; nil: no page is read
	Warnings func() []string                     // what /-/warnings shows besides the store's; nil: nothing
	Frozen   func() string                       // names the loops of the program that have frozen, for /-/livez; "" and nil: none
	Programs func() []Program                    // what /-/setup shows, asked for when it does; nil: none
	Page     fs.FS                               // the files of the page at /-/ui/, with an index.html; NAME.gz is NAME with gzip; nil: no page

	Extensions    []Extension                            // that are served below /-/ as well; nil: none
	OpenAPI       string                                 // describes them, with gzip; "": nothing does
	Choices       func() (model string, agents []string) // as of live.Config
	Conversations live.Conversations                     // shown beside the gateway's requests; nil: no conversations
	Store         func() (warnings []string, err error)  // the health of their store; nil: no store

	Fleet   *fleet.Fleet // of which the gateway is a replica; nil: it is on its own
	Replica Replica      // its part in that; nil likewise
	// Share joins the breaker and the limits of an upstream with those of the other replicas. It is nil without a
	// fleet.
	Share gateway.Share

	// Recovered is called with an upstream that has answered a call of the gateway after a fault. It must not
	// block, and may be nil.
	Recovered func(upstream string)

	OnTurn func(*gateway.Event) // gets what happens in turns, see package turns; nil: nothing does
	// Group begins the span of a council, see package turns. If it is nil, a council has no span.
	Group func(face, id, parent string) (span string, end func(turn.Status))

	TLS     *tls.Config           // nil: the server speaks plain HTTP
	Token   string                // that permits everything; "": none
	Tokens  func() []access.Token // those that are valid now, besides Token; nil: none. Without both, requests need none
	Tenants *tenant.Table         // the accounts of the tokens; nil: they have no limits, and nothing is counted
	Audit   *rest.AuditLog        // of actions; nil: they are in Log only
	Hosts   []string              // names of the server, without ports, besides this machine's own
	Origins []string              // of web pages that may use the server, besides its own; an origin is SCHEME://HOST[:PORT]
	Grace   time.Duration         // how long answers in progress may take at shutdown; 0: 10 s
	Log     *slog.Logger          // nil: slog.Default()
	Version string                // for the index
}

// Extension is what a server serves below /-/ besides the gateway: conversations, or councils.
type Extension interface {
	// Operations returns its operations for a server. It is called once.
	Operations(rest.Server) []rest.Operation
}

// Server is the handler. Its methods may be called concurrently.
type Server struct {
	config       Config
	since        time.Time      // when it was made, for the index
	single       []access.Token // Token
	guesses      access.Guesses
	guards       http.Header      // of every answer that a browser may show
	page         map[string]asset // by name
	mux          *http.ServeMux   // of the routes
	routes       []rest.Route     // below /-/
	readers      *rest.Readers
	refusals     refusals // for the want of a token
	refusedPages refusals
}

// New returns a server. [Server.Run] serves it. As a handler in another server it leaves the bounds of connections
// and headers to that server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Feed == nil {
		c.Feed = live.NewFeed()
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
		c.Audit = rest.NewAudit(c.Log)
	}
	s := &Server{
		config:  c,
		since:   time.Now().UTC().Truncate(time.Millisecond),
		guards:  answerGuards(),
		readers: rest.NewReaders(c.Log),
	}
	if c.Token != "" {
		s.single = []access.Token{{Name: "token", Scope: access.Admin, Hash: access.Hash(c.Token)}}
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
	b := exchange.Bound(w, r, exchange.Unread())
	if mayBeShown(r) {
		maps.Copy(w.Header(), s.guards)
	}
	switch {
	case !s.isNamed(r.Host, r):
		reject(w, r, http.StatusMisdirectedRequest, "this server does not answer for the host %q; use localhost or 127.0.0.1, or add the name to hosts in its configuration", rest.Clip(r.Host))
	case s.isBrowser(r):
		w.Header().Set("Location", pagePath)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusFound)
	case !s.passBrowser(w, r):
	case isOurs(r):
		w.Header().Set("Cache-Control", "no-store")
		s.mux.ServeHTTP(w, r)
	default:
		s.serveGateway(w, r, b)
	}
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request, b *exchange.Body) {
	r, ok := s.accept(w, r)
	if !ok {
		return
	}
	if s.needsToken() && hasNoCredential(r) {
		e := &refusalExplainer{ResponseWriter: w, r: r}
		s.config.Gateway.ServeHTTP(e, r)
		e.finish()
	} else {
		s.config.Gateway.ServeHTTP(w, r)
	}
	b.Finish(w)
}

// accept admits a request to an API, and charges it to its token; false: it was refused.
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

// charge charges a request to its token; false: it exceeded a limit of the token and was refused.
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

// drain refuses new requests, and ends the streams below /-/ and the gateway's waits.
func (s *Server) drain() {
	if s.readers.Drain() {
		s.config.Gateway.Drain()
	}
}
