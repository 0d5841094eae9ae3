package server

import (
	"net/http"
	"slices"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

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

// serveRoute serves a permitted request, and records its action.
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

func actor(t access.Token, r *http.Request) rest.Actor {
	from := r.RemoteAddr
	if at := addressOf(r); at.IsValid() {
		from = at.String()
	}
	return rest.Actor{Token: t.Name, From: from}
}

func actionOf(r *http.Request) string { return rest.Clip(r.Method) + " " + rest.Clip(r.URL.Path) }

// recorder records the status of an answer when it is sent: a stream may last for hours.
type recorder struct {
	http.ResponseWriter
	record func(status int) // nil: done
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

func (w *recorder) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *recorder) begin(status int) {
	if record := w.record; record != nil {
		w.record = nil
		record(status)
	}
}
