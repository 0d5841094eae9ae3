package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Input is what a user has said and no turn has taken up yet.
type Input struct {
	ID   string // that of its turn, too
	Text string // "": nothing, a model is to be asked again
	At   time.Time

	Steers bool // the turn in progress takes it up before it asks a model again
}

// log is a conversation as far as its records tell.
type log struct {
	id       string
	at       store.Position
	settings Settings
	changed  bool      // they are not those that it was made with
	born     time.Time // zero: it was never made
	touched  time.Time

	state  turn.State
	sealed turn.Status     // of the last turn that has ended; "": none has
	inputs []Input         // that wait for their turn
	known  map[string]bool // ids of all inputs there have ever been
	now    current         // the turn in progress
}

// current is the turn in progress.
type current struct {
	id      string // "": none is
	input   string // what it begins with
	began   time.Time
	with    Settings // as they were then
	epoch   int
	run     policy.Run // what the question in progress has taken so far
	waits   *park      // the wait that it is in; nil: none
	since   time.Time  // when the wait began
	failed  policy.Run // of the supervisor's policy: workers that have failed in a row
	due     time.Time  // when it is taken up again after the last of them; zero: at once
	held    bool       // a worker has it, or has died of it
	job     string     // the id of that worker's job
	abort   bool
	metrics turn.Metrics // of what has passed
}

// fold applies a record.
func (l *log) fold(r store.Record) error {
	l.touched = r.Time
	switch r.Type {
	case created:
		l.born = r.Time
		var err error
		l.settings, err = readCreation(r)
		return err
	case changed:
		return l.change(r)
	case inputQueued:
		return l.queue(r)
	case inputRemoved:
		l.take(r.Turn)
		return nil
	case steers:
		for i := range l.inputs {
			l.inputs[i].Steers = l.inputs[i].Steers || l.inputs[i].ID == r.Turn
		}
		return nil
	case running, released, parked, crashed, abortRequested:
		return l.progress(r)
	}
	e, err := eventOf(r)
	if err != nil || e == nil {
		return err
	}
	l.event(r, e)
	return nil
}

// queue applies an input: a new one, or another text for one that waits.
func (l *log) queue(r store.Record) error {
	var in wire.InputQueued
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	if i := slices.IndexFunc(l.inputs, func(in Input) bool { return in.ID == r.Turn }); i >= 0 {
		l.inputs[i].Text = in.Text
		return nil
	}
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[r.Turn] = true
	l.inputs = append(l.inputs, Input{ID: r.Turn, Text: in.Text, At: r.Time})
	return nil
}

// take takes an input out of the queue.
func (l *log) take(id string) {
	l.inputs = slices.DeleteFunc(l.inputs, func(in Input) bool { return in.ID == id })
}

// progress applies a record of the turn in progress.
func (l *log) progress(r store.Record) error {
	l.open(r.Turn, r.Time)
	switch r.Type {
	case running:
		var v run
		err := json.Unmarshal(r.Body, &v)
		l.waited(r.Time)
		l.begin(r.Turn)
		l.now.epoch, l.now.job, l.now.run, l.now.failed, l.now.due, l.now.held = v.Epoch, v.Job, v.Run, v.Failed, time.Time{}, true
		return err
	case parked:
		var v park
		err := json.Unmarshal(r.Body, &v)
		l.waited(r.Time) // of two waits of one worker, a try has been between
		l.now.run, l.now.waits, l.now.since, l.now.held = v.Run, &v, r.Time, v.Held
		return err
	case crashed:
		var v crash
		err := json.Unmarshal(r.Body, &v)
		l.now.failed, l.now.due, l.now.held = v.Run, v.WakeAt, false
		return err
	case released:
		l.now.held = false
	case abortRequested:
		l.now.abort = true
	}
	return nil
}

// open makes a turn the one in progress, if it is not.
func (l *log) open(id string, at time.Time) {
	if l.now.id != id {
		l.now = current{id: id, began: at, with: l.settings}
	}
}

// begin takes the input of a turn that a worker has taken out of the queue: from here on it does not change.
func (l *log) begin(id string) {
	if i := slices.IndexFunc(l.inputs, func(in Input) bool { return in.ID == id }); i >= 0 {
		l.now.input = l.inputs[i].Text
		l.take(id)
	}
}

// waited ends the wait that the turn was in: its try has been made.
func (l *log) waited(at time.Time) {
	if l.now.waits == nil {
		return
	}
	l.now.metrics.RetryCount++
	l.now.metrics.TotalRetryDelay = l.spent(at).TotalRetryDelay
	l.now.waits = nil
}

// spent returns what the turn has taken until a moment, in the midst of a wait too.
func (l *log) spent(at time.Time) turn.Metrics {
	m, used := l.now.metrics, l.state.Spent()
	m.Duration, m.InputTokens, m.OutputTokens = at.Sub(l.now.began), used.Input, used.Output
	if w := l.now.waits; w != nil {
		if w.Due.Before(at) {
			at = w.Due
		}
		m.TotalRetryDelay += max(0, at.Sub(l.now.since))
	}
	return m
}

// event applies an event of a turn.
func (l *log) event(r store.Record, e turn.Event) {
	l.waited(r.Time)
	switch e := e.(type) {
	case turn.Start:
		l.take(e.ID)
		l.open(e.ID, r.Time)
	case turn.UserMessage:
		l.take(e.ID)
	case turn.AssistantMessage:
		l.now.run, l.now.failed = policy.Run{}, policy.Run{}
	case turn.Switched:
		l.now.run = policy.Run{}
	case turn.Sealed:
		l.now, l.sealed = current{}, e.Status
		for i := range l.inputs {
			l.inputs[i].Steers = false // it was this turn that they were for
		}
	}
	l.state = l.state.Apply(e)
}

// idle reports whether no turn is in progress.
func (l *log) idle() bool { return l.now.id == "" }

// check returns ErrNotFound for a log without a first record.
func (l *log) check() error {
	if l.born.IsZero() {
		return fmt.Errorf("%w: %s", ErrNotFound, l.id)
	}
	return nil
}
