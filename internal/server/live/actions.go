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
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

var commands = []gateway.Command{gateway.RetryNow, gateway.Pause, gateway.Resume, gateway.Skip, gateway.GiveUp}

type action struct {
	Do gateway.Command `json:"do"`
}

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
	rest.Note(r.Context(), "do", string(a.Do))
	return a, true
}

// serveWait shows one waiting request or turn, or acts on it. A request is named by its number, a turn by its
// conversation.
func (l *Live) serveWait(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if r.Method != http.MethodPost {
		all := l.loadWaits()
		if i := slices.IndexFunc(all, func(v item) bool { return v.key().String() == id }); i >= 0 {
			rest.Answer(w, http.StatusOK, all[i])
			return
		}
		refuseGone(w, id)
		return
	}
	a, ok := readAction(w, r)
	if !ok {
		return
	}
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		l.actOnCall(r.Context(), w, number, a)
	} else {
		l.actOnTurn(w, r, id, a)
	}
}

func refuseGone(w http.ResponseWriter, id string) {
	rest.Refuse(w, http.StatusNotFound, "no request %s waits; see /-/waits", rest.Clip(id))
}

func (l *Live) actOnCall(ctx context.Context, w http.ResponseWriter, id int64, a action) {
	var done bool
	var err error
	if f, ok := l.Gateway.(fleet); ok {
		done, err = f.ActAnywhere(ctx, id, a.Do)
	} else {
		done = l.Gateway.Act(id, a.Do)
	}
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
		refuseGone(w, strconv.FormatInt(id, 10))
	}
}

func (l *Live) actOnTurn(w http.ResponseWriter, r *http.Request, conversation string, a action) {
	switch {
	case !slices.ContainsFunc(l.loadTurns(), func(v TurnWait) bool { return v.Conversation == conversation }):
		refuseGone(w, conversation)
	case a.Do == gateway.Skip:
		rest.Refuse(w, http.StatusBadRequest, "a turn does not take skip; /-/conversations/%s/move has it ask another model", rest.Clip(conversation))
	default:
		if err := l.Conversations.ActOn(r.Context(), "", conversation, a.Do); err != nil {
			rest.WriteProblem(w, rest.ProblemOf(l.Log, r, err))
			return
		}
		rest.Answer(w, http.StatusOK, a)
	}
}

// fleet is a gateway whose requests may wait at other replicas.
type fleet interface {
	// ActAnywhere is Act for all of them. With an error it is not known whether the request is anywhere.
	ActAnywhere(ctx context.Context, id int64, do gateway.Command) (done bool, err error)
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
	if v.Provider != "" && slices.Contains(turnActions, string(do)) { // before the calls: turns are stopped, not failed
		if err := l.Conversations.ActOn(ctx, v.Provider, "", do); err != nil {
			l.Log.Error("stop waiting turns", "upstream", v.Name, "error", err)
		}
	}
	return v.Source == "conversations" || l.Gateway.ActOn(v.Name, do)
}
