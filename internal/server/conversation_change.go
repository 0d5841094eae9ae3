package server

import (
	"net/http"

	"github.com/ridethrough/ridethrough/conversation"
)

// amendment is what is to be changed of what a conversation is made with. What
// is left out stays as it is.
type amendment struct {
	Model    *string   `json:"model,omitzero"`      // as "anthropic/claude-opus-4-5"
	Fallback *[]string `json:"fallback,omitzero"`   // models that take over, in this order
	Patience *int64    `json:"patienceMs,omitzero"` // how long faults may last before
	System   *string   `json:"system,omitzero"`     // standing orders
	Policy   *string   `json:"policy,omitzero"`     // a policy's name; "": the usual one
	Effort   *string   `json:"effort,omitzero"`     // how hard a model should think: "low", "medium" or "high"; "": as it does by itself
	Title    *string   `json:"title,omitzero"`      // for people
}

// to gives settings with the changes made.
func (a amendment) to(s conversation.Settings) conversation.Settings {
	put(&s.Model, a.Model)
	put(&s.Fallback, a.Fallback)
	put(&s.Patience, a.Patience)
	put(&s.System, a.System)
	put(&s.Policy, a.Policy)
	put(&s.Effort, a.Effort)
	put(&s.Title, a.Title)
	return s
}

// put replaces a value, if there is another.
func put[T any](at, by *T) {
	if by != nil {
		*at = *by
	}
}

// changeConversation changes what the turns to come are made with.
func (s *Server) changeConversation(w http.ResponseWriter, r *http.Request) error {
	b, err := read[amendment](w, r, settingsBound)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	v, err := s.config.Conversations.Get(r.Context(), id)
	if err != nil {
		return err
	}
	settings, err := s.settle(b.to(v.Settings))
	if err != nil {
		return err
	}
	if err := s.config.Conversations.Change(r.Context(), id, settings); err != nil {
		return err
	}
	if v, err = s.config.Conversations.Get(r.Context(), id); err != nil {
		return err
	}
	answer(w, http.StatusOK, viewConversation(v))
	return nil
}

// settle completes settings, or says what is wrong with them.
func (s *Server) settle(of conversation.Settings) (conversation.Settings, error) {
	if of.Patience < 0 {
		return of, wrong(http.StatusBadRequest, "patienceMs is not below 0")
	}
	settled, err := s.config.Settle(of)
	if err != nil {
		return of, wrong(http.StatusBadRequest, "%v", err)
	}
	return settled, nil
}

// repeat names the turn in which a model is asked again.
type repeat struct {
	ID string `json:"id,omitzero"` // the turn's; "": one is made up
}

// askAgain has a model asked again what the last turn has left unanswered.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request) error {
	b, err := read[repeat](w, r, orderBound)
	if err != nil {
		return err
	}
	return s.act(w, r, command{Do: "again", ID: b.ID})
}
