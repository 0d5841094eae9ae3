package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/docs"
	"github.com/ridethrough/ridethrough/gateway"
)

// route is one address below /-/.
type route struct {
	Path    string   `json:"path"`
	Methods []string `json:"methods"`
	What    string   `json:"what"`
	serve   http.HandlerFunc
	open    bool // to those without the token
}

var (
	reads = []string{http.MethodGet, http.MethodHead}
	acts  = []string{http.MethodGet, http.MethodHead, http.MethodPost}
)

// everywhere gives the routes that each server has.
func (s *Server) everywhere() []route {
	return []route{
		{"/-/", reads, "this list", s.index, false},
		{"/-/waits", reads, "the requests that wait; as text/event-stream: and what changes", s.serveWaits, false},
		{"/-/waits/{id}", acts, `one of them; POST {"do":"now"}, or hold, resume, give-up`, s.serveWait, false},
		{"/-/upstreams", reads, "the upstreams; as text/event-stream: and what changes", s.serveUpstreams, false},
		{"/-/upstreams/{name}", acts, `one of them; POST {"do":"now"}, or hold, resume, give-up, for all that wait for it`, s.serveUpstream, false},
		{"/-/incidents", reads, "when upstreams have failed; as text/event-stream: and what changes", s.serveIncidents, false},
		{"/-/incidents/{id}", reads, "one of them; as text/plain: on a page", s.serveIncident, false},
		{"/-/policies", reads, "the policies, and when each tries again", s.servePolicies, false},
		{"/-/events", reads, "what happens, as text/event-stream; Last-Event-ID goes on behind an event", s.serveEvents, false},
		{"/-/live", reads, "all of this in one stream, for a page", s.serveLive, false},
		{"/-/livez", reads, "whether the process is there", s.livez, true},
		{"/-/readyz", reads, "whether it takes requests; it never asks an upstream", s.readyz, true},
		{"/-/openapi.json", reads, "the conversations' and councils' part of this list in OpenAPI", handOut("application/json", docs.OpenAPI()), false},
		{"/-/events.schema.json", reads, "all events in JSON Schema", handOut("application/schema+json", docs.Events()), false},
	}
}

// route sets up what is below /-/.
func (s *Server) route() {
	s.routes = s.everywhere()
	if s.config.Metrics != nil {
		s.routes = append(s.routes, route{"/-/metrics", reads, "numbers for Prometheus", s.config.Metrics.ServeHTTP, false})
	}
	if s.config.Conversations != nil {
		s.routes = append(s.routes, s.talks(s.operations())...)
	}
	if s.config.Council != nil {
		s.routes = append(s.routes, s.talks(s.convening())...)
	}
	if len(s.page) > 0 {
		s.routes = append(s.routes, route{pagePath, reads, "a page for people; " + pagePath + "{file} are its parts", s.servePage, true})
	}
	s.board = http.NewServeMux()
	for _, rt := range s.routes {
		pattern := rt.Path
		if pattern == "/-/" {
			pattern = "/-/{$}"
		}
		s.board.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.enter(rt, w, r) })
	}
	s.board.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if !s.admit(r) {
			s.strange(w, r)
			return
		}
		refuse(w, http.StatusNotFound, "there is no %s; see /-/", clip(r.URL.Path))
	})
}

// handOut answers with a page.
func handOut(kind, page string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, page) // a client that has left misses it
	}
}

// serveBoard answers what is below /-/.
func (s *Server) serveBoard(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	s.board.ServeHTTP(w, r)
}

// enter lets a request in that may use a route.
func (s *Server) enter(rt route, w http.ResponseWriter, r *http.Request) {
	switch {
	case !rt.open && !s.admit(r):
		s.strange(w, r)
	case !slices.Contains(rt.Methods, r.Method):
		w.Header().Set("Allow", strings.Join(rt.Methods, ", "))
		refuse(w, http.StatusMethodNotAllowed, "%s takes %s", clip(r.URL.Path), strings.Join(rt.Methods, ", "))
	case s.origins.Check(r) != nil:
		refuse(w, http.StatusForbidden, "a page of another site has sent this")
	default:
		rt.serve(w, r)
	}
}

// index lists the routes.
func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, struct {
		Name    string  `json:"name"`
		Version string  `json:"version,omitzero"`
		Routes  []route `json:"routes"`
	}{"ridethrough", s.config.Version, s.routes})
}

// status is what livez and readyz answer.
type status struct {
	Status string `json:"status"`
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, status{"ok"})
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if s.ending() {
		answer(w, http.StatusServiceUnavailable, status{"draining"})
		return
	}
	answer(w, http.StatusOK, status{"ok"})
}

// commands are what can be done.
var commands = []gateway.Command{gateway.RetryNow, gateway.Pause, gateway.Resume, gateway.GiveUp}

// order is the body of an action, and its answer.
type order struct {
	Do gateway.Command `json:"do"`
}

// orderBound is how large the body of an action may be, in bytes.
const orderBound = 4 << 10

// ordered reads an action; false: it has been refused.
func ordered(w http.ResponseWriter, r *http.Request) (o order, ok bool) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "want Content-Type: application/json")
		return o, false
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBound))
	d.DisallowUnknownFields()
	err := d.Decode(&o)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("there is more behind it")
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		refuse(w, http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", orderBound)
		return o, false
	}
	if err != nil || !slices.Contains(commands, o.Do) {
		refuse(w, http.StatusBadRequest, `want {"do":"now"}, or hold, resume, give-up`)
		return o, false
	}
	return o, true
}

// serveWait shows one request that waits, or acts on it.
func (s *Server) serveWait(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	gone := func() {
		refuse(w, http.StatusNotFound, "no request %s waits; see /-/waits", clip(r.PathValue("id")))
	}
	if err != nil {
		gone()
		return
	}
	if r.Method != http.MethodPost {
		all := s.loadWaits()
		if i := slices.IndexFunc(all, func(v wait) bool { return v.ID == id }); i >= 0 {
			answer(w, http.StatusOK, all[i])
			return
		}
		gone()
		return
	}
	o, ok := ordered(w, r)
	switch {
	case !ok:
	case !s.config.Gateway.Act(id, o.Do):
		gone()
	default:
		s.config.Log.Info("asked to act", "request", id, "do", string(o.Do))
		answer(w, http.StatusOK, o)
	}
}

// serveUpstream shows one upstream, or acts on all that wait for it.
func (s *Server) serveUpstream(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	all := s.loadUpstreams()
	i := slices.IndexFunc(all, func(v upstream) bool { return v.Name == name })
	if i < 0 {
		refuse(w, http.StatusNotFound, "no upstream is named %q; see /-/upstreams", clip(name))
		return
	}
	if r.Method != http.MethodPost {
		answer(w, http.StatusOK, all[i])
		return
	}
	o, ok := ordered(w, r)
	switch {
	case !ok:
	case !slices.Contains(all[i].Actions, string(o.Do)):
		refuse(w, http.StatusBadRequest, "nobody can %s %s; want one of %s", o.Do, clip(name), strings.Join(all[i].Actions, ", "))
	case !s.actOn(r.Context(), &all[i], o.Do):
		refuse(w, http.StatusNotFound, "no upstream is named %q any more; see /-/upstreams", clip(name))
	default:
		s.config.Log.Info("asked to act", "upstream", name, "do", string(o.Do))
		answer(w, http.StatusOK, o)
	}
}

// actOn does something about an upstream and all that wait for it; false: it is
// not there any more.
func (s *Server) actOn(ctx context.Context, v *upstream, do gateway.Command) bool {
	switch {
	case v.Provider == "":
		return s.config.Gateway.ActOn(v.Name, do)
	case do == gateway.RetryNow:
		s.config.Conversations.NowAll(ctx, v.Provider)
	default:
		if err := s.config.Conversations.StopAll(ctx, v.Provider); err != nil {
			s.config.Log.Error("stopping the turns that wait", "upstream", v.Name, "error", err)
		}
	}
	return true
}
