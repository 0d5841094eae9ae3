package live

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/audit"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// commands are the actions on waits and upstreams.
var commands = []gateway.Command{gateway.RetryNow, gateway.Pause, gateway.Resume, gateway.Skip, gateway.GiveUp}

// action is the body of an action, and its answer.
type action struct {
	Do gateway.Command `json:"do"`
}

// readAction reads an action; false: the request was refused.
func readAction(w http.ResponseWriter, r *http.Request) (a action, ok bool) {
	a, err := rest.Read[action](w, r, rest.ActionBound)
	p, refused := errors.AsType[*api.Problem](err)
	if !refused && !slices.Contains(commands, a.Do) || refused && p.Status == http.StatusBadRequest {
		p, refused = rest.Problem(http.StatusBadRequest, `want {"do":"now"}, or pause, resume, skip, give-up`), true
	}
	if refused {
		rest.WriteProblem(w, p)
		return a, false
	}
	audit.Note(r.Context(), "do", string(a.Do))
	return a, true
}

// serveWait shows one request that waits, or acts on it.
func (l *Live) serveWait(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	gone := func() {
		rest.Refuse(w, http.StatusNotFound, "no request %s waits; see /-/waits", rest.Clip(r.PathValue("id")))
	}
	if err != nil {
		gone()
		return
	}
	if r.Method != http.MethodPost {
		all := l.loadCalls()
		if i := slices.IndexFunc(all, func(v callWait) bool { return v.ID == id }); i >= 0 {
			rest.Answer(w, http.StatusOK, all[i])
			return
		}
		gone()
		return
	}
	a, ok := readAction(w, r)
	if !ok {
		return
	}
	done, err := l.act(r.Context(), id, a.Do)
	switch {
	case err != nil:
		rest.Refuse(w, http.StatusGatewayTimeout, "request %d: %v", id, err)
	case done:
		rest.Answer(w, http.StatusOK, a)
	case a.Do == gateway.Skip && slices.ContainsFunc(l.loadCalls(), func(v callWait) bool { return v.ID == id }):
		p := rest.Problem(http.StatusConflict, "request %d has no fallback to skip to at the moment", id)
		p.Code = "no-fallback"
		rest.WriteProblem(w, p)
	default:
		gone()
	}
}

// fleet is a gateway whose requests may wait at other replicas.
type fleet interface {
	// ActAnywhere is Act for all of them. With an error it is not known whether the request is anywhere.
	ActAnywhere(ctx context.Context, id int64, do gateway.Command) (done bool, err error)
}

// act acts on a request.
func (l *Live) act(ctx context.Context, id int64, do gateway.Command) (done bool, err error) {
	if f, ok := l.Gateway.(fleet); ok {
		return f.ActAnywhere(ctx, id, do)
	}
	return l.Gateway.Act(id, do), nil
}

// serveUpstream shows one upstream, or acts on all waits for it.
func (l *Live) serveUpstream(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	all := l.loadUpstreams()
	i := slices.IndexFunc(all, func(v upstream) bool { return v.Name == name })
	if i < 0 {
		rest.Refuse(w, http.StatusNotFound, "no upstream is named %q; see /-/upstreams", rest.Clip(name))
		return
	}
	if r.Method != http.MethodPost {
		rest.Answer(w, http.StatusOK, all[i])
		return
	}
	a, ok := readAction(w, r)
	switch {
	case !ok:
	case !slices.Contains(all[i].Actions, string(a.Do)):
		rest.Refuse(w, http.StatusBadRequest, "%s does not take %s; want one of %s", rest.Clip(name), a.Do, strings.Join(all[i].Actions, ", "))
	case !l.actOn(r.Context(), &all[i], a.Do):
		rest.Refuse(w, http.StatusNotFound, "no upstream is named %q any more; see /-/upstreams", rest.Clip(name))
	default:
		rest.Answer(w, http.StatusOK, a)
	}
}

// actOn acts on an upstream and all waits for it; false: the upstream has been removed.
func (l *Live) actOn(ctx context.Context, v *upstream, do gateway.Command) bool {
	if v.Provider == "" {
		return l.Gateway.ActOn(v.Name, do)
	}
	if err := l.Conversations.ActOn(ctx, v.Provider, do); err != nil {
		l.Log.Error("stop waiting turns", "upstream", v.Name, "error", err)
	}
	return true
}
