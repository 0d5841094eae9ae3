package conversation

import (
	"encoding/json"
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

// format is that of the records of this version. The first record has it.
const format = 1

// creation is the first record of a conversation.
type creation struct {
	Format int `json:"format"`
	Settings
}

// readCreation returns the settings of a first record.
func readCreation(r store.Record) (Settings, error) {
	var c creation
	if err := json.Unmarshal(r.Body, &c); err != nil {
		return c.Settings, err
	}
	if c.Format != format {
		return c.Settings, fmt.Errorf("the conversation has record format %d of another version of ridethrough; this version reads format %d", c.Format, format)
	}
	return c.Settings, nil
}

// Settings are what the turns of a conversation are made with.
type Settings = wire.Settings

// run is the record of a worker that has taken a turn.
type run struct {
	Epoch  int        `json:"epoch"`           // from 1 in each turn: a worker whose epoch is over must not append
	Job    string     `json:"job"`             // the id of the worker's job: a worker with another job leaves the turn alone
	Worker string     `json:"worker,omitzero"` // the runner's name
	Run    policy.Run `json:"run,omitzero"`    // what the question in progress has taken so far
	Failed policy.Run `json:"failed,omitzero"` // of the supervisor's policy: workers that have died of this turn in a row
}

// park is the record of a turn that waits. Its JSON is that of parkForm.
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
	e, err := turn.Unmarshal(turn.Type(turn.Retry{}), f.Event)
	if err != nil {
		return err
	}
	p.Retry, p.Held = e.(turn.Retry), f.Held
	p.Run, p.Due = f.Run, f.Due
	return nil
}

// crash is the record of a worker that has failed for a reason other than a provider.
type crash struct {
	Run     policy.Run `json:"run"` // of the supervisor's policy
	WakeAt  time.Time  `json:"wakeAt"`
	Message string     `json:"message"`
}

// record returns a record that is no event of a turn.
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
	return record(created, "", creation{format, s}, now)
}

// eventOf returns the turn's event in a record; nil: there is none.
func eventOf(r store.Record) (turn.Event, error) {
	e, err := turn.Unmarshal(r.Type, r.Body)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", r.N, err)
	}
	return e, nil
}
