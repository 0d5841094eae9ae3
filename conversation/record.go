package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// The records of a conversation's log that are no events of a turn. The first
// three are public, see package wire; the others are for the worker that resumes it.
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

// Settings are what the turns of a conversation are made with.
type Settings = wire.Settings

// run tells that a worker has taken a turn.
type run struct {
	Epoch  int        `json:"epoch"`           // from 1 in each turn: a worker whose epoch is over must not append
	Ticket string     `json:"ticket"`          // of the worker's job: a worker with another job leaves the turn alone
	Worker string     `json:"worker,omitzero"` // the host's name
	Run    policy.Run `json:"run,omitzero"`    // what the question in progress has taken so far
	Failed policy.Run `json:"failed,omitzero"` // of the supervisor's policy: workers that have died of this turn in a row
}

// park says that a turn waits. As JSON it has the members of the retry's event
// and those of parkForm.
type park struct {
	turn.Retry
	Held bool // its worker keeps the turn meanwhile
}

type parkForm struct {
	Event json.RawMessage `json:"event"` // provider-retry
	Run   policy.Run      `json:"run"`
	Due   time.Time       `json:"due"`
	Held  bool            `json:"held,omitzero"`
}

// MarshalJSON writes the record.
func (p park) MarshalJSON() ([]byte, error) {
	event, err := turn.Marshal(p.Retry)
	if err != nil {
		return nil, err
	}
	return json.Marshal(parkForm{event, p.Run, p.Due, p.Held})
}

// UnmarshalJSON reads the record.
func (p *park) UnmarshalJSON(text []byte) error {
	var f parkForm
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	if f.Event == nil {
		return errors.New("the record is of an older version of ridethrough, which this version does not read")
	}
	e, err := turn.Unmarshal(turn.Type(turn.Retry{}), f.Event)
	if err != nil {
		return err
	}
	p.Retry, p.Held = e.(turn.Retry), f.Held
	p.Run, p.Due = f.Run, f.Due
	return nil
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

// EventRecord returns the record of a turn's event.
func EventRecord(conversation, turnID string, e turn.Event, now time.Time) (store.Record, error) {
	text, err := wire.Marshal(wire.Turn{Ref: wire.Ref{ConversationID: conversation, TurnID: turnID}, Event: e})
	return store.Record{Time: now, Turn: turnID, Type: turn.Type(e), Body: text}, err
}

// CreatedRecord returns the record that the log of a conversation starts with.
func CreatedRecord(s Settings, now time.Time) (store.Record, error) {
	return record(created, "", s, now)
}

// eventOf returns a turn's event from its record; nil: it is none.
func eventOf(r store.Record) (turn.Event, error) {
	e, err := turn.Unmarshal(r.Type, r.Body)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", r.N, err)
	}
	return e, nil
}
