package conversation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// The records of a conversation's log that are no events of a turn. The first
// three are public, see package wire; the others are for whoever goes on with it.
const (
	inputQueued    = "input-queued"
	inputRemoved   = "input-removed"
	changed        = "conversation-changed"
	created        = "conversation-created"
	steers         = "input-steers"
	running        = "turn-running"
	released       = "turn-released"
	parked         = "turn-parked"
	crashed        = "turn-crashed"
	abortRequested = "turn-abort-requested"
)

// Settings are what a conversation is made with.
type Settings struct {
	Model    string   `json:"model"`               // as "anthropic/claude-opus-4-5"
	Fallback []string `json:"fallback,omitzero"`   // models that take over, in this order
	Patience int64    `json:"patienceMs,omitzero"` // how long faults may last before
	System   string   `json:"system,omitzero"`     // standing orders
	Policy   string   `json:"policy,omitzero"`     // a policy's name; "": the host's
	Effort   string   `json:"effort,omitzero"`     // how hard a model should think: "low", "medium" or "high"; "": as it does by itself
	Title    string   `json:"title,omitzero"`      // for people
}

// run tells that a worker has taken a turn.
type run struct {
	Epoch  int        `json:"epoch"`           // from 1 in each turn: a worker whose epoch is over must not append
	Ticket string     `json:"ticket"`          // that the worker came with: whoever comes with another leaves it alone
	Worker string     `json:"worker,omitzero"` // the host's name
	Run    policy.Run `json:"run,omitzero"`    // what the question under way has taken so far
	Failed policy.Run `json:"failed,omitzero"` // of the supervisor's policy: workers that have died of this turn in a row
}

// park tells that a turn waits.
type park struct {
	Run     policy.Run `json:"run"` // with the failed try counted in
	WakeAt  time.Time  `json:"wakeAt"`
	Held    bool       `json:"held,omitzero"` // its worker waits for it, rather than nobody
	Name    llm.Name   `json:"model"`
	Kind    string     `json:"kind"`
	Code    string     `json:"code,omitzero"`
	Message string     `json:"message"`
	Reason  string     `json:"reason"`
	Limit   int        `json:"maxRetries,omitzero"` // 0: no limit
	Until   time.Time  `json:"deadline,omitzero"`
}

// crash tells that a worker has failed of something that is no provider's fault.
type crash struct {
	Run     policy.Run `json:"run"` // of the supervisor's policy
	WakeAt  time.Time  `json:"wakeAt"`
	Message string     `json:"message"`
}

// record makes a record of something that is no event of a turn.
func record(kind, turnID string, body any, now time.Time) (store.Record, error) {
	text, err := json.Marshal(body)
	return store.Record{Time: now, Turn: turnID, Type: kind, Body: text}, err
}

// recordOf makes the record of a turn's event.
func recordOf(conversation, turnID string, e turn.Event, now time.Time) (store.Record, error) {
	return record(e.Type(), turnID, wire.OfTurn(wire.Call{ConversationID: conversation, TurnID: turnID}, e), now)
}

// eventOf gives a turn's event from its record; nil: it is none.
func eventOf(r store.Record) (turn.Event, error) {
	body, err := wire.Decode(r.Type, r.Body)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", r.N, err)
	}
	e, ok := wire.ToTurn(body)
	if !ok {
		return nil, nil
	}
	return e, nil
}
