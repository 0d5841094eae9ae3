package conversations

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/views"
)

// do carries out a command. A turn that was told to stop, or to retry now, may not have done so yet.
func (a *API) do(ctx context.Context, id string, c api.Command) (d api.Done, err error) {
	d = api.Done{Did: c.Do, ID: c.ID, TurnID: c.TurnID}
	switch c.Do {
	case "say", "compact", "again":
		d.ID = ""
		d.TurnID, err = a.addTurn(ctx, id, c)
		d.Paused = err == nil && a.Runner.IsPaused(ctx, id)
	case "stop":
		err = a.Runner.Stop(ctx, id, c.TurnID)
	case "now":
		err = a.Runner.RetryNow(ctx, id)
	case "pause":
		err = a.Runner.Pause(ctx, id)
	case "resume":
		err = a.Runner.Resume(ctx, id)
	case "move":
		err = a.move(ctx, id, c.Model)
	case "edit":
		err = a.Runner.Edit(ctx, id, c.ID, c.Text)
	case "remove":
		err = a.Runner.Remove(ctx, id, c.ID)
	case "steer":
		err = a.Runner.Steer(ctx, id, c.ID)
	case "answer":
		err = a.Runner.Answer(ctx, id, c.ID, c.Decision)
	default:
		err = rest.Problem(http.StatusBadRequest, `want {"do":"say"}, or compact, again, stop, now, pause, resume, move, edit, remove, steer, answer`)
	}
	return d, err
}

func (a *API) addTurn(ctx context.Context, id string, c api.Command) (turnID string, err error) {
	switch {
	case c.Do == "say":
		return a.Runner.Submit(ctx, id, c.ID, c.Text, views.ImagesOf(c.Images)...)
	case c.Do == "compact":
		return a.Runner.Compact(ctx, id, c.ID, c.Text)
	case c.UntilReset:
		return a.Runner.WaitForWindow(ctx, id, c.ID)
	}
	return a.Runner.RetryTurn(ctx, id, c.ID)
}

// traced returns the context of a request, in which its turn is a child of its client's span.
func traced(r *http.Request) context.Context {
	return conversation.WithParent(r.Context(), parentOf(r))
}

func parentOf(r *http.Request) string { return r.Header.Get("Traceparent") }

func (a *API) answerDo(w http.ResponseWriter, r *http.Request, c api.Command) error {
	d, err := a.do(traced(r), r.PathValue("id"), c)
	if err == nil {
		rest.Answer(w, http.StatusAccepted, d)
	}
	return err
}

// say adds a user message. After the 202 it is durable.
func (a *API) say(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.NewTurn](w, r, turnBound)
	if err != nil {
		return err
	}
	key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
	if key != "" && b.ID != "" && key != b.ID {
		return rest.Problem(http.StatusBadRequest, "the id and the Idempotency-Key differ")
	}
	c := api.Command{Do: "say", ID: cmp.Or(b.ID, key), Text: b.Text, Images: b.Images}
	if kind := rest.Accepted(r); kind != "" {
		return a.sayAndFollow(w, r, kind, c)
	}
	return a.answerDo(w, r, c)
}

// commanding returns the operation of a command that is made from a request's body, of at most bound bytes, and its
// path.
func commanding[T any](a *API, bound int64, command func(T, *http.Request) api.Command) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		b, err := rest.Read[T](w, r, bound)
		if err != nil {
			return err
		}
		return a.answerDo(w, r, command(b, r))
	}
}

// command returns the operation of a command about the conversation, without a body.
func (a *API) command(do string) func(http.ResponseWriter, *http.Request) error {
	return commanding(a, rest.ActionBound, func(struct{}, *http.Request) api.Command { return api.Command{Do: do} })
}

func (a *API) move(ctx context.Context, id, model string) error {
	v, err := a.Runner.Get(ctx, id)
	if err != nil {
		return err
	}
	if model == "" {
		return rest.Problem(http.StatusBadRequest, "want a model to move to")
	}
	v.Settings.Model = model
	if _, err := a.settle(v.Settings); err != nil {
		return err
	}
	return a.Runner.Move(ctx, id, model)
}

func (a *API) approvals(w http.ResponseWriter, r *http.Request) error {
	v, err := a.Runner.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	var open []conversation.Approval
	if v.Approval != nil {
		open = append(open, *v.Approval)
	}
	rest.Answer(w, http.StatusOK, api.Approvals{Approvals: views.ApprovalsOf(open)})
	return nil
}

func (a *API) allApprovals(w http.ResponseWriter, r *http.Request) error {
	open, err := a.Runner.Approvals(r.Context())
	if err == nil {
		rest.Answer(w, http.StatusOK, api.Approvals{Approvals: views.ApprovalsOf(open)})
	}
	return err
}
