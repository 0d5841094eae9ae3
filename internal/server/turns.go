package server

import (
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// turnsBound is how many of the turns that wait are shown.
const turnsBound = 500

// turnWait is a conversation's turn that waits, as JSON.
type turnWait struct {
	Conversation string    `json:"conversation"`
	Title        string    `json:"title,omitzero"`
	Turn         string    `json:"turn"`
	State        string    `json:"state"` // "waiting", "trying"
	Provider     string    `json:"provider"`
	Model        string    `json:"model"`
	Upstream     string    `json:"upstream"`      // its name among the upstreams
	Kind         string    `json:"kind"`          // of the latest fault
	Cause        string    `json:"cause"`         // the same in plain words
	Message      string    `json:"message"`       // the provider's
	Code         string    `json:"code,omitzero"` // such as "529"
	Retries      int       `json:"retries"`       // made so far
	MaxRetries   int       `json:"maxRetries,omitzero"`
	Began        time.Time `json:"began"`
	Due          time.Time `json:"due,omitzero"`      // the next try; left out: it is under way
	Deadline     time.Time `json:"deadline,omitzero"` // left out: no budget bounds it
	Remaining    int64     `json:"remainingMs"`       // until due; 0: now
	Waited       int64     `json:"waitedMs"`
}

// key names the turn among all that wait: a conversation has one under way.
func (v turnWait) key() string { return v.Conversation }

// same tells whether nothing has changed but the time.
func (v turnWait) same(o turnWait) bool {
	v.Remaining, v.Waited = o.Remaining, o.Waited
	return v == o
}

// loadTurns asks the conversations which turns wait.
func (s *Server) loadTurns() []turnWait {
	if s.config.Conversations == nil {
		return []turnWait{}
	}
	now := time.Now()
	from, _ := s.config.Conversations.Pending(turnsBound)
	all := make([]turnWait, len(from))
	for i := range from {
		all[i] = viewTurn(&from[i], now)
	}
	return all
}

func viewTurn(p *conversation.Pending, now time.Time) turnWait {
	v := turnWait{
		Conversation: p.Conversation, Title: p.Title, Turn: p.Turn, State: "waiting", Provider: p.Name.Provider, Model: p.Name.Model,
		Upstream: history.OfTurns(p.Name.Provider), Kind: p.Kind, Cause: causeOf(p), Message: p.Message, Code: p.Code,
		Retries: p.Retries, MaxRetries: p.Limit, Began: instant(p.Began), Due: instant(p.Due), Deadline: instant(p.Deadline),
		Remaining: until(p.Due, now),
	}
	v.Waited = max(0, p.Slept.Milliseconds()-v.Remaining)
	if p.Trying {
		v.State, v.Due, v.Remaining, v.Waited = "trying", time.Time{}, 0, p.Slept.Milliseconds()
	}
	return v
}

// causeOf gives what a turn waits for in plain words.
func causeOf(p *conversation.Pending) string {
	status, _ := strconv.Atoi(p.Code) // a word, where no server has answered
	return (&fault.Error{Kind: fault.KindOf(p.Kind), Status: status}).Label()
}

// tally is how many there are of something of which only some are shown, as
// JSON.
type tally struct {
	Of  string `json:"of"`
	All int    `json:"all"`
}

// key names what is counted.
func (v tally) key() string { return v.Of }

// loadTallies counts the turns that wait.
func (s *Server) loadTallies() []tally {
	if s.config.Conversations == nil {
		return []tally{}
	}
	_, n := s.config.Conversations.Pending(turnsBound)
	return []tally{{"turns", n}}
}

// equals tells whether two values are the same.
func equals[T comparable](a, b T) bool { return a == b }
