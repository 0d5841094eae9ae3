package conversations

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/stream"
	"github.com/ridethrough/ridethrough/internal/server/views"
)

// do carries out a command. That a turn was told to stop, or to try now, does not mean that it has.
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

// addTurn adds the input of a command that begins a turn.
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

// parentOf returns the traceparent of a request; "": it has none.
func parentOf(r *http.Request) string { return r.Header.Get("Traceparent") }

// answerDo answers a request that is a command.
func (a *API) answerDo(w http.ResponseWriter, r *http.Request, c api.Command) error {
	d, err := a.do(traced(r), r.PathValue("id"), c)
	if err == nil {
		rest.Answer(w, http.StatusAccepted, d)
	}
	return err
}

// say adds a user message. What is answered with 202 is durable.
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
	if kind := stream.Accepted(r); kind != "" {
		return a.sayAndFollow(w, r, kind, c)
	}
	return a.answerDo(w, r, c)
}

func (a *API) again(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.Again](w, r, rest.ActionBound)
	if err != nil {
		return err
	}
	return a.answerDo(w, r, api.Command{Do: "again", ID: b.ID, UntilReset: b.UntilReset})
}

func (a *API) compact(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.Compact](w, r, textBound)
	if err != nil {
		return err
	}
	return a.answerDo(w, r, api.Command{Do: "compact", ID: b.ID, Text: b.Instruction})
}

func (a *API) stop(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.Stop](w, r, rest.ActionBound)
	if err != nil {
		return err
	}
	return a.answerDo(w, r, api.Command{Do: "stop", TurnID: b.TurnID})
}

// command returns the operation of a command that is about the conversation and has no body.
func (a *API) command(do string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := rest.Read[struct{}](w, r, rest.ActionBound); err != nil {
			return err
		}
		return a.answerDo(w, r, api.Command{Do: do})
	}
}

// move lets the turn that waits ask another model.
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

func (a *API) moveTurn(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.Move](w, r, rest.ActionBound)
	if err != nil {
		return err
	}
	return a.answerDo(w, r, api.Command{Do: "move", Model: b.Model})
}

func (a *API) steer(w http.ResponseWriter, r *http.Request) error {
	if _, err := rest.Read[struct{}](w, r, rest.ActionBound); err != nil {
		return err
	}
	return a.answerDo(w, r, api.Command{Do: "steer", ID: r.PathValue("input")})
}

// approvals lists the call of one conversation that waits for approval.
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

// allApprovals lists the calls of all conversations that wait for approval.
func (a *API) allApprovals(w http.ResponseWriter, r *http.Request) error {
	open, err := a.Runner.Approvals(r.Context())
	if err == nil {
		rest.Answer(w, http.StatusOK, api.Approvals{Approvals: views.ApprovalsOf(open)})
	}
	return err
}

func (a *API) answerApproval(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.NewAnswer](w, r, rest.ActionBound)
	if err != nil {
		return err
	}
	return a.answerDo(w, r, api.Command{Do: "answer", ID: r.PathValue("call"), Decision: b.Decision})
}
