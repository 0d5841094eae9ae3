package server

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

func (s *Server) route() {
	c, shows := s.config, rest.ReadMethods()
	s.routes = []rest.Route{
		{Path: "/-/", Methods: shows, What: "this list", Serve: s.index},
		{Path: "/-/policies", Methods: shows, What: "the policies, and when each retries", Serve: s.servePolicies},
		{Path: "/-/setup", Methods: shows, What: "how programs use the gateway; {url} is its address", Serve: s.serveSetup},
		{Path: "/-/events", Methods: shows, What: "events as they happen, as text/event-stream; Last-Event-ID continues after an event", Serve: c.Feed.Serve(s.readers)},
		{Path: "/-/livez", Methods: shows, What: "whether the process runs and none of its loops is frozen", Serve: s.livez, Public: true},
		{Path: "/-/readyz", Methods: shows, What: "whether it takes requests; it never asks an upstream", Serve: s.readyz, Public: true},
		{Path: "/-/events.schema.json", Methods: shows, What: "all events in JSON Schema", Serve: described("application/schema+json", api.Events()).serve},
	}
	replica := ""
	if c.Fleet != nil {
		replica = c.Fleet.ID
	}
	s.routes = append(s.routes, live.New(live.Config{
		Gateway: c.Gateway, Replica: replica, Conversations: c.Conversations, History: c.History, Feed: c.Feed, Readers: s.readers,
		Log: c.Log, Version: c.Version, Token: s.needsToken(), Warnings: s.warnings, Vendor: c.Vendor, Choices: c.Choices,
	}).Routes()...)
	if c.Metrics != nil {
		s.routes = append(s.routes, rest.Route{Path: "/-/metrics", Methods: shows, What: "metrics for Prometheus", Serve: c.Metrics.ServeHTTP})
	}
	if c.OpenAPI != "" {
		s.routes = append(s.routes, rest.Route{Path: "/-/openapi.json", Methods: shows, What: "OpenAPI description of conversations and councils", Serve: described("application/json", c.OpenAPI).serve})
	}
	for _, e := range c.Extensions {
		s.routes = append(s.routes, rest.Routes(c.Log, e.Operations(rest.Server{Readers: s.readers, Log: c.Log}))...)
	}
	if len(s.page) > 0 {
		s.routes = append(s.routes, rest.Route{Path: pagePath, Methods: shows, What: "the page; " + pagePath + "{file} are its files", Serve: s.servePage, Public: true})
	}
	s.register()
}

func (s *Server) register() {
	s.mux = http.NewServeMux()
	for _, rt := range s.routes {
		pattern := rt.Path
		if pattern == "/-/" {
			pattern = "/-/{$}"
		}
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.dispatch(rt, w, r) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.admit(w, r, 0); !ok {
			return
		}
		rest.Refuse(w, http.StatusNotFound, "there is no %s; see /-/", rest.Clip(r.URL.Path))
	})
}

// dispatch serves a request that may use a route, and refuses others.
func (s *Server) dispatch(rt rest.Route, w http.ResponseWriter, r *http.Request) {
	var who sender
	if !rt.Public {
		var ok bool
		if who, ok = s.admit(w, r, scopeOf(rt.Path, r.Method)); !ok {
			return
		}
	}
	switch {
	case !slices.Contains(rt.Methods, r.Method):
		w.Header().Set("Allow", strings.Join(rt.Methods, ", "))
		rest.Refuse(w, http.StatusMethodNotAllowed, "%s takes %s", rest.Clip(r.URL.Path), strings.Join(rt.Methods, ", "))
	default:
		s.serveRoute(rt, w, r, who)
	}
}

func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	rest.Answer(w, http.StatusOK, struct {
		Name    string        `json:"name"`
		Version string        `json:"version,omitzero"`
		Process int           `json:"process"` // the id that the lock of a store names
		Since   time.Time     `json:"since"`
		Fleet   *fleet.Status `json:"fleet,omitempty"`
		Routes  []rest.Route  `json:"routes"`
	}{"ridethrough", s.config.Version, os.Getpid(), s.since, s.fleet(), s.routes})
}

func (s *Server) fleet() *fleet.Status {
	if s.config.Fleet == nil {
		return nil
	}
	f := s.config.Fleet.Status()
	f.Since = f.Since.UTC().Truncate(time.Millisecond)
	return &f
}

type status struct {
	Status string `json:"status"`
	Store  string `json:"store,omitzero"`  // of conversations: "ok" or "unavailable"; left out: there is none
	Reason string `json:"reason,omitzero"` // why not; that of the store only for requests with the token
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	if frozen := s.config.Frozen(); frozen != "" {
		rest.Answer(w, http.StatusServiceUnavailable, status{Status: "frozen", Reason: frozen})
		return
	}
	rest.Answer(w, http.StatusOK, status{Status: "ok"})
}

// readyz answers 200 as long as the gateway accepts requests, which needs no store.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.readers.IsDraining() {
		rest.Answer(w, http.StatusServiceUnavailable, status{Status: "draining"})
		return
	}
	answer := status{Status: "ok"}
	if s.config.Store != nil {
		answer.Store = "ok"
		if _, err := s.config.Store(); err != nil {
			answer.Store = "unavailable"
			if s.sees(r) {
				answer.Reason = err.Error()
			}
		}
	}
	rest.Answer(w, http.StatusOK, answer)
}

func (s *Server) warnings() (all []string) {
	if s.config.Store != nil {
		all, _ = s.config.Store()
	}
	if s.config.Warnings != nil {
		all = append(slices.Clip(all), s.config.Warnings()...)
	}
	if s.config.History != nil {
		if lost := s.config.History.Lost(time.Now()); lost != "" {
			all = append(slices.Clip(all), lost)
		}
	}
	return all
}
