package conversations

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

func (a *API) sayAndFollow(w http.ResponseWriter, r *http.Request, kind string, c api.Command) error {
	if !a.Readers.Admit(w) {
		return nil
	}
	id := r.PathValue("id")
	c.ID = cmp.Or(c.ID, conversation.NewID())
	f := &inputFilter{input: c.ID}
	events, stop := rest.Subscribe(r.Context(), func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return f.filter(a.attach(ctx, id, 0)) // before the message is added, so that nothing is missed
	})
	defer stop()
	if _, err := a.do(traced(r), id, c); err != nil {
		a.Readers.Leave()
		return err
	}
	a.stream(w, r, kind, events)
	return nil
}

func (a *API) stream(w http.ResponseWriter, r *http.Request, kind string, events <-chan rest.Item) {
	if out := a.Readers.Begin(w, r, kind); out != nil {
		defer out.Close()
		out.Follow(events)
	}
}

// inputFilter selects the events of one input: those of its turn, or of the turn that it steers, and the pauses of
// the conversation meanwhile.
type inputFilter struct {
	input  string
	turn   string     // "": no turn has taken it yet
	began  bool       // an event has been selected
	paused wire.Event // the pause in which the input has come; zero: there was none
}

// filter returns the events of the input, until its turn is sealed or it is removed.
func (f *inputFilter) filter(all iter.Seq2[wire.Event, error]) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range all {
			if err == nil && !f.selects(e) {
				continue
			}
			if p := f.paused; p.Body != nil {
				if f.paused = (wire.Event{}); !yield(p, nil) {
					return
				}
			}
			if !yield(e, err) || endsInput(e.Body) {
				return
			}
		}
	}
}

// selects reports whether an event is the input's, and records the turn that takes the input.
func (f *inputFilter) selects(e wire.Event) bool {
	switch e.Body.(type) {
	case wire.ConversationPaused:
		if !f.began {
			f.paused = e
		}
		return f.began
	case wire.ConversationResumed:
		f.paused = wire.Event{}
		return f.began
	}
	selected := f.isOf(e.Body)
	f.began = f.began || selected
	return selected
}

func (f *inputFilter) isOf(b wire.Body) bool {
	turnID := wire.TurnOf(b)
	if e, ok := b.(wire.Turn); ok {
		m, _ := e.Event.(turn.UserMessage)
		_, starts := e.Event.(turn.Start)
		if starts && turnID == f.input || m.ID == f.input {
			f.turn = turnID
		}
	}
	return turnID == cmp.Or(f.turn, f.input)
}

func endsInput(b wire.Body) bool {
	if e, ok := b.(wire.Turn); ok {
		_, sealed := e.Event.(turn.Sealed)
		return sealed
	}
	_, removed := b.(wire.InputRemoved)
	return removed
}

func (a *API) follow(w http.ResponseWriter, r *http.Request) error {
	id, q := r.PathValue("id"), r.URL.Query()
	after, err := rest.Number("after", cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")))
	if err != nil {
		return err
	}
	until := q.Get("until")
	if until != "" && until != "sealed" {
		return rest.Problem(http.StatusBadRequest, "until: want sealed, not %q", rest.Clip(until))
	}
	v, err := a.viewAfter(r.Context(), id, after)
	if err != nil {
		return err
	}
	if !a.Readers.Admit(w) {
		return nil
	}
	events, stop := rest.Subscribe(r.Context(), func(ctx context.Context) iter.Seq2[wire.Event, error] {
		if until == "" {
			return a.attach(ctx, id, after)
		}
		return explained(a.untilIdle(ctx, v, after))
	})
	defer stop()
	a.stream(w, r, cmp.Or(rest.Accepted(r), rest.NDJSON), events)
	return nil
}

// viewAfter returns a conversation whose events after a number are to be followed. It refuses a number above that
// of the last event.
func (a *API) viewAfter(ctx context.Context, id string, after int64) (conversation.View, error) {
	v, err := a.Runner.Get(ctx, id)
	if err != nil || after <= v.Last {
		return v, err
	}
	p := rest.Problem(http.StatusConflict, "there is no event %d yet, the last one is %d", after, v.Last)
	p.Code = "wrong-sequence"
	return v, p
}

// untilIdle returns the events of a conversation until no turn is in progress and no input waits.
func (a *API) untilIdle(ctx context.Context, v conversation.View, after int64) iter.Seq2[wire.Event, error] {
	idle := func(v conversation.View) bool { return v.Turn == "" && len(v.Inputs) == 0 }
	if idle(v) {
		return a.Runner.History(ctx, v.ID, after)
	}
	return func(yield func(wire.Event, error) bool) {
		for e, err := range a.Runner.Attach(ctx, v.ID, after) {
			if !yield(e, err) || err != nil {
				return
			}
			if e.Seq <= v.Last || !endsInput(e.Body) {
				continue
			}
			if now, err := a.Runner.Get(ctx, v.ID); err != nil || idle(now) && e.Seq >= now.Last {
				return
			}
		}
	}
}
