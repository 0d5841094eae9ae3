package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// The records of a conversation's log that are no events of a turn. The first
// five are public, see package wire; the others are for the worker that resumes it.
const (
	inputQueued    = "input-queued"
	inputRemoved   = "input-removed"
	changed        = "conversation-changed"
	paused         = "conversation-paused"
	resumed        = "conversation-resumed"
	created        = "conversation-created"
	imageStored    = "image-stored"
	steers         = "input-steers"
	running        = "turn-running"
	released       = "turn-released"
	parked         = "turn-parked"
	crashed        = "turn-crashed"
	survived       = "turn-survived"
	abortRequested = "turn-abort-requested"
	movedOn        = "turn-moved"
)

// format is that of the records of this version. The first record has it.
const format = 1

// note is the content of a record that is no event: it is for the worker that resumes the turn.
type note interface{ note() string }

// The notes without content.
type (
	steer   struct{} // an input steers the turn in progress
	survive struct{} // a worker lives that has taken its turn up after another has failed
	abort   struct{} // a user or an operator stops the turn
)

// release is the record of a turn that a worker has handed back.
type release struct {
	Clean bool `json:"clean,omitzero"` // nothing of an answer was shown that is void when the turn goes on
}

func (creation) note() string { return created }
func (steer) note() string    { return steers }
func (run) note() string      { return running }
func (release) note() string  { return released }
func (park) note() string     { return parked }
func (crash) note() string    { return crashed }
func (survive) note() string  { return survived }
func (abort) note() string    { return abortRequested }
func (move) note() string     { return movedOn }

// encode returns the record of a content: a [wire.Body], or a note.
func encode(turnID string, content any, now time.Time) (r store.Record, err error) {
	r = store.Record{Time: now, Turn: turnID}
	switch c := content.(type) {
	case note:
		r.Type = c.note()
		r.Body, err = json.Marshal(c)
	case wire.Body:
		r.Type = wire.Type(c)
		r.Body, err = wire.Marshal(c)
	default:
		err = fmt.Errorf("record of a %T", content)
	}
	return r, err
}

// decode returns the content of a record.
func decode(r store.Record) (any, error) {
	switch r.Type {
	case created:
		return readCreation(r)
	case imageStored:
		return read[imageFile](r)
	case steers:
		return steer{}, nil
	case running:
		return read[run](r)
	case released:
		return read[release](r)
	case parked:
		return read[park](r)
	case crashed:
		return read[crash](r)
	case survived:
		return survive{}, nil
	case abortRequested:
		return abort{}, nil
	case movedOn:
		return read[move](r)
	}
	return wire.Unmarshal(r.Type, r.Body)
}

func read[T any](r store.Record) (content T, err error) {
	err = json.Unmarshal(r.Body, &content)
	return content, err
}

// creation is the first record of a conversation.
type creation struct {
	Format int `json:"format"`
	Settings
}

// readCreation reads a first record.
func readCreation(r store.Record) (creation, error) {
	c, err := read[creation](r)
	if err == nil && c.Format != format {
		err = fmt.Errorf("the conversation has record format %d of another version of ridethrough; this version reads format %d", c.Format, format)
	}
	return c, err
}

// Settings are what the turns of a conversation are made with.
type Settings = wire.Settings

// run is the record of a worker that has taken a turn.
type run struct {
	Epoch  int        `json:"epoch"`           // from 1 in each turn: a worker whose epoch is over must not append
	Job    string     `json:"job"`             // the id of the worker's job: a worker with another job leaves the turn alone
	Worker string     `json:"worker,omitzero"` // the runner's name
	Run    policy.Run `json:"run,omitzero"`    // what the question in progress has taken so far
	Failed policy.Run `json:"failed,omitzero"` // of the supervisor's policy: workers that have failed in a row
}

// park is the record of a turn that waits. Its JSON is that of parkForm.
type park struct {
	turn.Retry
	Held  bool // its worker keeps the turn meanwhile
	Shown bool // a part of the answer was shown, which is void when another worker asks again
}

type parkForm struct {
	Event json.RawMessage `json:"event"` // provider-retry
	Run   policy.Run      `json:"run"`
	Due   time.Time       `json:"due"`
	Held  bool            `json:"held,omitzero"`
	Shown bool            `json:"shown,omitzero"`
}

// MarshalJSON writes the record.
func (p park) MarshalJSON() ([]byte, error) {
	event, err := turn.Marshal(p.Retry)
	if err != nil {
		return nil, err
	}
	return json.Marshal(parkForm{event, p.Run, p.Due, p.Held, p.Shown})
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
	p.Retry, p.Held, p.Shown = e.(turn.Retry), f.Held, f.Shown
	p.Run, p.Due = f.Run, f.Due
	return nil
}

// redacted returns the note as its record has it, without what must not be shown of the fault.
func (p park) redacted() (shown park, err error) {
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	return shown, err
}

// crash is the record of a worker that has failed for a reason other than a provider.
type crash struct {
	Run     policy.Run `json:"run"` // of the supervisor's policy
	WakeAt  time.Time  `json:"wakeAt"`
	Message string     `json:"message"`
	Model   llm.Name   `json:"model,omitzero"` // that the turn asks; of an older program: none
	Limit   int        `json:"limit,omitzero"` // how many failures in a row the policy allows; 0: not recorded
}

// retry returns the wait that follows the failure, or what is left of it at an instant, as an event.
func (c crash) retry(now time.Time) turn.Retry {
	return turn.Retry{Name: c.Model, Wait: policy.Wait{
		Run: c.Run, Fault: &fault.Error{Kind: fault.Unknown, Code: turn.WorkerFailed, Message: c.Message},
		Verdict: policy.Verdict{Wait: max(0, c.WakeAt.Sub(now))}, Due: c.WakeAt, Limit: cmp.Or(c.Limit, policy.Unlimited),
	}}
}

// EventRecord returns the record of a turn's event.
func EventRecord(conversation, turnID string, e turn.Event, now time.Time) (store.Record, error) {
	return encode(turnID, wire.Turn{Ref: wire.Ref{ConversationID: conversation, TurnID: turnID}, Event: e}, now)
}

// CreatedRecord returns the record that the log of a conversation starts with.
func CreatedRecord(s Settings, now time.Time) (store.Record, error) {
	return encode("", creation{format, s}, now)
}
