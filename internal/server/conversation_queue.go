package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/ridethrough/ridethrough/conversation"
)

// command is something to do in a conversation.
type command struct {
	Do     string `json:"do"`              // "say", "again", "stop", "now", "edit", "remove" or "steer"
	ID     string `json:"id,omitzero"`     // of the input; to say something without one makes one up
	Text   string `json:"text,omitzero"`   // to say, or to put in the place of what waits
	TurnID string `json:"turnId,omitzero"` // to stop; "": whichever is under way
}

// done answers a command.
type done struct {
	Did    string `json:"did"`
	ID     string `json:"id,omitzero"`
	TurnID string `json:"turnId,omitzero"`
}

// do does what a command says. That a turn was told to stop, or to try now, does
// not say that it has.
func (s *Server) do(ctx context.Context, conversation string, c command) (d done, err error) {
	d = done{Did: c.Do, ID: c.ID, TurnID: c.TurnID}
	switch host := s.config.Conversations; c.Do {
	case "say":
		d.ID = ""
		d.TurnID, err = host.Say(ctx, conversation, c.ID, c.Text)
	case "again":
		d.ID = ""
		d.TurnID, err = host.Again(ctx, conversation, c.ID)
	case "stop":
		err = host.Stop(ctx, conversation, c.TurnID)
	case "now":
		err = host.Now(ctx, conversation)
	case "edit":
		err = host.Edit(ctx, conversation, c.ID, c.Text)
	case "remove":
		err = host.Remove(ctx, conversation, c.ID)
	case "steer":
		err = host.Steer(ctx, conversation, c.ID)
	default:
		err = wrong(http.StatusBadRequest, `want {"do":"say"}, or again, stop, now, edit, remove, steer`)
	}
	return d, err
}

// act answers a request that is a command.
func (s *Server) act(w http.ResponseWriter, r *http.Request, c command) error {
	d, err := s.do(r.Context(), r.PathValue("id"), c)
	if err == nil {
		answer(w, http.StatusAccepted, d)
	}
	return err
}

// halt names the turn that is to stop.
type halt struct {
	TurnID string `json:"turnId,omitzero"` // "": whichever is under way
}

func (s *Server) stopTurn(w http.ResponseWriter, r *http.Request) error {
	b, err := read[halt](w, r, orderBound)
	if err != nil {
		return err
	}
	return s.act(w, r, command{Do: "stop", TurnID: b.TurnID})
}

func (s *Server) tryNow(w http.ResponseWriter, r *http.Request) error {
	if _, err := read[struct{}](w, r, orderBound); err != nil {
		return err
	}
	return s.act(w, r, command{Do: "now"})
}

// queue is what waits for its turn, as JSON.
type queue struct {
	Queue []input `json:"queue"` // the next first
}

func (s *Server) listQueue(w http.ResponseWriter, r *http.Request) error {
	v, err := s.config.Conversations.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, queue{viewQueue(v.Inputs)})
	return nil
}

// wording is what an input that waits is to say.
type wording struct {
	Text string `json:"text"`
}

func (s *Server) editInput(w http.ResponseWriter, r *http.Request) error {
	b, err := read[wording](w, r, textBound)
	if err != nil {
		return err
	}
	id, in := r.PathValue("id"), r.PathValue("input")
	if err := s.config.Conversations.Edit(r.Context(), id, in, b.Text); err != nil {
		return err
	}
	v, err := s.config.Conversations.Get(r.Context(), id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(v.Inputs, func(i conversation.Input) bool { return i.ID == in })
	if i < 0 {
		return conversation.ErrInput // its turn has begun meanwhile, with the new words
	}
	answer(w, http.StatusOK, viewQueue(v.Inputs[i : i+1])[0])
	return nil
}

func (s *Server) removeInput(w http.ResponseWriter, r *http.Request) error {
	if err := s.config.Conversations.Remove(r.Context(), r.PathValue("id"), r.PathValue("input")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) steerTurn(w http.ResponseWriter, r *http.Request) error {
	if _, err := read[struct{}](w, r, orderBound); err != nil {
		return err
	}
	return s.act(w, r, command{Do: "steer", ID: r.PathValue("input")})
}
