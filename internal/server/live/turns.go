package live

import (
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/policy"
)

// turnsBound is how many waiting turns are shown.
const turnsBound = 500

// turnWait is a turn that waits, as JSON.
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
	Message      string    `json:"message"`       // the provider's text
	Code         string    `json:"code,omitzero"` // such as "529"
	Retries      int       `json:"retries"`       // made so far
	MaxRetries   int       `json:"maxRetries,omitzero"`
	Began        time.Time `json:"began"`
	Due          time.Time `json:"due,omitzero"`      // of the next try; left out: it is in progress
	Deadline     time.Time `json:"deadline,omitzero"` // left out: none
	Remaining    int64     `json:"remainingMs"`       // until due; 0: now
	Waited       int64     `json:"waitedMs"`
}

// key returns the conversation's id: it has one turn at a time.
func (v turnWait) key() string { return v.Conversation }

// same reports whether nothing has changed but the time.
func (v turnWait) same(o turnWait) bool {
	v.Remaining, v.Waited = o.Remaining, o.Waited
	return v == o
}

// loadTurns returns the turns that wait.
func (l *Live) loadTurns() []turnWait {
	if l.Conversations == nil {
		return []turnWait{}
	}
	now := time.Now()
	from, _ := l.Conversations.Pending(turnsBound)
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
		Retries: p.Retries, MaxRetries: p.Limit, Began: rest.Time(p.Began), Due: rest.Time(p.Due), Deadline: rest.Time(p.Deadline),
		Remaining: rest.Remaining(p.Due, now),
	}
	if p.Limit == policy.Unlimited {
		v.MaxRetries = 0
	}
	v.Waited = max(0, p.Slept.Milliseconds()-v.Remaining)
	if p.Trying {
		v.State, v.Due, v.Remaining, v.Waited = "trying", time.Time{}, 0, p.Slept.Milliseconds()
	}
	return v
}

// causeOf returns the cause of a turn's wait in plain words.
func causeOf(p *conversation.Pending) string {
	status, _ := strconv.Atoi(p.Code) // not a number where no server has answered
	return (&fault.Error{Kind: fault.KindOf(p.Kind), Status: status}).Label()
}

// tally is the size of a list of which only some items are shown, as JSON.
type tally struct {
	Of  string `json:"of"`
	All int    `json:"all"`
}

// key returns the name of the list.
func (v tally) key() string { return v.Of }

// loadTallies counts the turns that wait.
func (l *Live) loadTallies() []tally {
	if l.Conversations == nil {
		return []tally{}
	}
	_, n := l.Conversations.Pending(turnsBound)
	return []tally{{"turns", n}}
}
