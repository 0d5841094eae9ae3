// Package conversations is the HTTP API of conversations, below /-/conversations. docs/conversations.md is
// its manual. It runs nothing itself: package conversation does.
package conversations

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/store"
)

// Bounds of requests, in bytes. JSON may need six bytes for one of a text, and base64 four for three of an image.
const (
	textBound     = 6*conversation.MaxText + rest.ActionBound
	turnBound     = textBound + (llm.MaxImageBytes+llm.MaxImages)/3*4 + llm.MaxImages*rest.ActionBound
	settingsBound = 512 << 10
)

// API answers the operations on conversations. Its methods may be called concurrently.
type API struct {
	Runner *conversation.Runner
	Settle func(conversation.Settings) (conversation.Settings, error) // completes and checks settings; nil: keeps them
	Name   func(provider string) string                               // names a provider among the upstreams; nil: one of conversations only
	rest.Server

	restoring, copying sync.Mutex
}

// Operations returns all operations for a server.
func (a *API) Operations(of rest.Server) []rest.Operation {
	a.Server = of
	operations := a.operations()
	for i, o := range operations {
		operations[i].Serve = func(w http.ResponseWriter, r *http.Request) error { return views.Explain(o.Serve(w, r)) }
	}
	return operations
}

func (a *API) operations() []rest.Operation {
	const all, one = "/-/conversations", "/-/conversations/{id}"
	return []rest.Operation{
		{Method: http.MethodGet, Path: all, Name: "listConversations", Summary: "list the conversations, the newest first", Serve: a.list},
		{Method: http.MethodGet, Path: all + ".db", Name: "copyStore", Summary: "get a copy of the file with all of them, as it is at this moment", Serve: a.copyStore},
		{Method: http.MethodPost, Path: all, Name: "createConversation", Summary: "create one", Serve: a.create},
		{Method: http.MethodGet, Path: one, Name: "getConversation", Summary: "get one", Serve: a.get},
		{Method: http.MethodPatch, Path: one, Name: "changeConversation", Summary: "change the settings of later turns", Serve: a.change},
		{Method: http.MethodDelete, Path: one, Name: "deleteConversation", Summary: "delete it for good", Serve: a.delete},
		{Method: http.MethodPost, Path: one + "/turns", Name: "say", Summary: "add a user message; as a stream: and follow its turn", Serve: a.say},
		{Method: http.MethodGet, Path: one + "/events", Name: "followConversation", Summary: "stream its past and new events", Serve: a.follow},
		{Method: http.MethodGet, Path: one + "/socket", Name: "openSocket", Summary: "stream them on a WebSocket that takes commands as well", Serve: a.openSocket},
		{Method: http.MethodPost, Path: one + "/compact", Name: "compactConversation", Summary: "replace its oldest messages by a summary", Serve: commanding(a, textBound, func(b api.Compact, _ *http.Request) api.Command {
			return api.Command{Do: "compact", ID: b.ID, Text: b.Instruction}
		})},
		{Method: http.MethodPost, Path: one + "/again", Name: "askAgain", Summary: "ask again what the last turn left unanswered", Serve: commanding(a, rest.ActionBound, func(b api.Again, _ *http.Request) api.Command {
			return api.Command{Do: "again", ID: b.ID, UntilReset: b.UntilReset}
		})},
		{Method: http.MethodPost, Path: one + "/stop", Name: "stopTurn", Summary: "stop the running turn", Serve: commanding(a, rest.ActionBound, func(b api.Stop, _ *http.Request) api.Command {
			return api.Command{Do: "stop", TurnID: b.TurnID}
		})},
		{Method: http.MethodPost, Path: one + "/now", Name: "tryNow", Summary: "end the wait of the running turn", Serve: a.command("now")},
		{Method: http.MethodPost, Path: one + "/pause", Name: "pauseConversation", Summary: "ask no model and begin no turn in it until it is resumed", Serve: a.command("pause")},
		{Method: http.MethodPost, Path: one + "/resume", Name: "resumeConversation", Summary: "end its pause", Serve: a.command("resume")},
		{Method: http.MethodPost, Path: one + "/move", Name: "moveTurn", Summary: "let the running turn, which waits, ask another model", Serve: commanding(a, rest.ActionBound, func(b api.Move, _ *http.Request) api.Command {
			return api.Command{Do: "move", Model: b.Model}
		})},
		{Method: http.MethodGet, Path: "/-/approvals", Name: "listApprovals", Summary: "list the tool calls of all conversations that wait for approval", Serve: a.allApprovals},
		{Method: http.MethodGet, Path: one + "/approvals", Name: "listApprovalsOf", Summary: "list those of one", Serve: a.approvals},
		{Method: http.MethodPost, Path: one + "/approvals/{call}", Name: "answerApproval", Summary: "allow or deny one", Serve: commanding(a, rest.ActionBound, func(b api.NewAnswer, r *http.Request) api.Command {
			return api.Command{Do: "answer", ID: r.PathValue("call"), Decision: b.Decision}
		})},
		{Method: http.MethodGet, Path: one + "/queue", Name: "listQueue", Summary: "list the inputs that wait for their turn", Serve: a.queue},
		{Method: http.MethodGet, Path: one + "/records", Name: "exportConversation", Summary: "get all its records as a file of `ridethrough export`", Serve: a.records},
		{Method: http.MethodPost, Path: one + "/records", Name: "importConversation", Summary: "put the records of such a file into the store", Serve: a.restore},
		{Method: http.MethodPatch, Path: one + "/queue/{input}", Name: "editInput", Summary: "replace the text of one", Serve: a.edit},
		{Method: http.MethodDelete, Path: one + "/queue/{input}", Name: "removeInput", Summary: "remove one", Serve: a.remove},
		{Method: http.MethodPost, Path: one + "/queue/{input}/steer", Name: "steerTurn", Summary: "steer the running turn with one", Serve: commanding(a, rest.ActionBound, func(_ struct{}, r *http.Request) api.Command {
			return api.Command{Do: "steer", ID: r.PathValue("input")}
		})},
	}
}

const (
	pageDefault = 50
	pageBound   = 500
)

func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := rest.Number("limit", q.Get("limit"))
	if err != nil {
		return err
	}
	if limit == 0 || limit > pageBound {
		limit = min(max(limit, pageDefault), pageBound)
	}
	p := api.Page{Conversations: []api.Summary{}}
	for v, err := range a.Runner.List(r.Context(), q.Get("before")) {
		if err != nil {
			return err
		}
		if len(p.Conversations) == int(limit) {
			p.Before = p.Conversations[limit-1].ID
			break
		}
		p.Conversations = append(p.Conversations, views.SummaryOf(v))
	}
	rest.Answer(w, http.StatusOK, p)
	return nil
}

func (a *API) create(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.NewConversation](w, r, settingsBound)
	if err != nil {
		return err
	}
	settings, err := a.settle(b.Settings)
	if err != nil {
		return err
	}
	id, err := a.Runner.Create(r.Context(), b.ID, settings)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/-/conversations/"+id)
	return a.answer(r.Context(), w, http.StatusCreated, id)
}

func (a *API) get(w http.ResponseWriter, r *http.Request) error {
	return a.answer(r.Context(), w, http.StatusOK, r.PathValue("id"))
}

func (a *API) answer(ctx context.Context, w http.ResponseWriter, status int, id string) error {
	v, err := a.Runner.Get(ctx, id)
	if err != nil {
		return err
	}
	rest.Answer(w, status, views.Of(v, time.Now()))
	return nil
}

func (a *API) change(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.Change](w, r, settingsBound)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	v, err := a.Runner.Get(r.Context(), id)
	if err != nil {
		return err
	}
	settings, err := a.settle(b.To(v.Settings))
	if err != nil {
		return err
	}
	if err := a.Runner.Change(r.Context(), id, settings); err != nil {
		return err
	}
	return a.answer(r.Context(), w, http.StatusOK, id)
}

func (a *API) settle(s conversation.Settings) (conversation.Settings, error) {
	if s.Patience < 0 {
		return s, rest.Problem(http.StatusBadRequest, "patienceMs must not be negative")
	}
	if a.Settle == nil {
		return s, nil
	}
	settled, err := a.Settle(s)
	if err != nil {
		return s, rest.Problem(http.StatusBadRequest, "%v", err)
	}
	return settled, nil
}

func (a *API) delete(w http.ResponseWriter, r *http.Request) error {
	if err := a.Runner.Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) queue(w http.ResponseWriter, r *http.Request) error {
	v, err := a.Runner.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	rest.Answer(w, http.StatusOK, api.Queue{Queue: views.QueueOf(v.Inputs)})
	return nil
}

func (a *API) edit(w http.ResponseWriter, r *http.Request) error {
	b, err := rest.Read[api.NewText](w, r, textBound)
	if err != nil {
		return err
	}
	id, input := r.PathValue("id"), r.PathValue("input")
	if err := a.Runner.Edit(r.Context(), id, input, b.Text); err != nil {
		return err
	}
	v, err := a.Runner.Get(r.Context(), id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(v.Inputs, func(i conversation.Input) bool { return i.ID == input })
	if i < 0 {
		return conversation.ErrNotQueued // its turn has begun meanwhile, with the new text
	}
	rest.Answer(w, http.StatusOK, views.QueueOf(v.Inputs[i : i+1])[0])
	return nil
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	if err := a.Runner.Remove(r.Context(), r.PathValue("id"), r.PathValue("input")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// healthInterval is how long the health of the store counts as current, healthTimeout how long it may take.
const (
	healthInterval = 2 * time.Second
	healthTimeout  = time.Second
)

// Health is the state of the conversations' store. Its methods may be called concurrently.
type Health struct {
	Store store.Lifecycle

	mu       sync.Mutex
	due      time.Time // of the next check
	err      error     // why the store cannot be used
	warnings []string
}

// Current returns why the store is unusable, and what an operator should know about it, in sentences.
func (h *Health) Current() (warnings []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); !now.Before(h.due) {
		h.check()
		h.due = time.Now().Add(healthInterval)
	}
	return h.warnings, h.err
}

func (h *Health) check() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), healthTimeout, store.ErrUnavailable)
	defer cancel()
	health, err := h.Store.Health(ctx)
	h.err, h.warnings = err, nil
	if err != nil {
		h.warnings = []string{"Conversations are unavailable: " + err.Error()}
		return
	}
	h.warnings = append(h.warnings, health.Warnings...)
	for _, l := range health.Losses {
		h.warnings = append(h.warnings, l.String())
	}
}
