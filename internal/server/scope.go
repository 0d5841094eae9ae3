package server

import (
	"net/http"
	"slices"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/server/audit"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// scopeOf returns the scope that a method of a route needs.
func scopeOf(path, method string) access.Scope {
	reads := slices.Contains(rest.ReadMethods(), method)
	switch {
	case path == "/-/councils":
		return access.Use // it asks models, like any request to an API
	case path == "/-/conversations/{id}/socket":
		return access.See | access.Act // it takes commands
	case path == "/-/conversations/{id}" && method == http.MethodDelete,
		path == "/-/conversations/{id}/records" && !reads: // what it puts there is taken for what happened
		return access.Admin
	case reads:
		return access.See
	default:
		return access.Act
	}
}

// serveRoute serves a request that is permitted, and records what it does.
func (s *Server) serveRoute(rt rest.Route, w http.ResponseWriter, r *http.Request, who sender) {
	ctx := access.WithScope(r.Context(), who.Scope)
	if rt.Public || scopeOf(rt.Path, r.Method) == access.See {
		rt.Serve(w, r.WithContext(ctx))
		return
	}
	ctx, action := s.config.Audit.With(ctx, actor(who.Token, r))
	if !slices.Contains(rest.ReadMethods(), r.Method) { // or a WebSocket, which records its commands
		w = &recorder{ResponseWriter: w, record: func(status int) { action.Done(actionOf(r), status) }}
	}
	rt.Serve(w, r.WithContext(ctx))
}

// actor returns the sender of a request for the audit log.
func actor(t access.Token, r *http.Request) audit.Actor {
	from := r.RemoteAddr
	if at := addressOf(r); at.IsValid() {
		from = at.String()
	}
	return audit.Actor{Token: t.Name, From: from}
}

// actionOf returns a request as an action for the audit log.
func actionOf(r *http.Request) string { return rest.Clip(r.Method) + " " + rest.Clip(r.URL.Path) }

// recorder records the status of an answer as it is sent: a stream that follows may last for hours.
type recorder struct {
	http.ResponseWriter
	record func(status int) // nil: done
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header.
func (w *recorder) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *recorder) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// FlushError sends what is buffered.
func (w *recorder) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// begin records the status, once.
func (w *recorder) begin(status int) {
	if record := w.record; record != nil {
		w.record = nil
		record(status)
	}
}
