package conversation

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/llm"
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

	Images []llm.Image // what the user shows with it

	Compact bool   // it asks for a smaller history; Text says what of the summary
	Steers  bool   // the turn in progress takes it up before it asks a model again
	Parent  string // the traceparent of its request; "": none

	UntilReset bool // its turn waits for usage windows, whatever its policy says
}

// log is a conversation as far as its records tell.
type log struct {
	id       string
	at       store.Position
	settings Settings
	changed  bool      // they are not those that it was made with
	turns    int       // that have begun
	named    bool      // the title was set; else it is that of the first words
	first    Input     // what the user has said first; zero: nothing so far
	born     time.Time // zero: it was never made
	touched  time.Time
	paused   time.Time // since when; zero: it is not

	state  turn.State
	sealed turn.Status     // of the last turn that has ended; "": none has
	inputs []Input         // that wait for their turn
	known  map[string]bool // ids of all inputs there have ever been; false: it was removed and had not come
	now    current         // the turn in progress

	untrue bool // it may not be as the record is, or not be all of it

	message  turn.Event // the latest one, until something else happens in its turn; nil: none
	repeated bool       // it was there twice

	images map[string][]byte // the files of all images, by id
	size   int               // of these files, in bytes

	lost    []store.Damage // what the store has lost of the record
	gap     bool           // and no record of a worker has come since
	doubt   []string       // the inputs whose turns may have been in what was lost
	noticed time.Time      // when the store has noticed the last loss that the record tells of; zero: it tells of none
}

// current is the turn in progress.
type current struct {
	id      string // "": none is
	input   Input  // what it begins with
	parent  string // the traceparent of its request; "": none
	began   time.Time
	with    Settings // as they were then
	epoch   int
	run     policy.Run // what the question in progress has taken so far
	waits   *park      // the wait that it is in; nil: none
	since   time.Time  // when the wait began
	failed  policy.Run // of the supervisor's policy: workers that have failed in a row
	crash   *crash     // the last of them, while no worker has the turn; nil: there was none
	asked   time.Time  // when the user was asked to approve a call last
	left    bool       // its last worker has left it to the user, to one that asks another model, or in a pause
	held    bool       // a worker has it, or has died of it
	claimed time.Time  // when that worker has taken it up
	proven  bool       // that worker did not die soon after that
	job     string     // the id of that worker's job
	abort   bool
	moves   int          // how often it has moved to another model
	lost    bool         // a part of its record was lost
	metrics turn.Metrics // of what has passed

	untilReset bool // it waits for usage windows, whatever its policy says
}

// apply applies a record that was read.
func (l *log) apply(r store.Record) error {
	content, err := decode(r)
	if err == nil {
		l.fold(r, content)
	}
	return err
}

// fold applies a record with this content.
func (l *log) fold(r store.Record, content any) {
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.touched = r.Time
	l.passGap(r)
	switch c := content.(type) {
	case creation:
		l.born, l.settings, l.named = r.Time, c.Settings, c.Title != ""
	case wire.ConversationChanged:
		l.change(c.Settings)
	case wire.ConversationPaused:
		l.paused = r.Time
	case wire.ConversationResumed:
		l.resumed(r.Time)
	case wire.RecordLost:
		l.lose(store.Damage{Conversation: l.id, N: c.First, Why: "lost"}, c.Noticed)
		l.noticed = c.Noticed
	case imageFile:
		l.keepFile(c)
	case wire.InputQueued:
		l.queue(Input{ID: r.Turn, Text: c.Text, Images: l.withFiles(c.Images), At: r.Time, Compact: c.Compact, Parent: c.Parent, UntilReset: c.UntilReset})
	case wire.InputRemoved:
		l.take(r.Turn)
		if !l.known[r.Turn] {
			l.known[r.Turn] = false
		}
		l.forgetFirst(r.Turn)
	case steer:
		if in := l.input(r.Turn); in != nil {
			in.Steers = true
		}
	case wire.Turn:
		l.event(r, c.Event)
	case note:
		l.progress(r, c)
	}
}

// queue applies an input: a new one, or another text for one that waits.
func (l *log) queue(in Input) {
	l.noteFirst(in)
	if there := l.input(in.ID); there != nil {
		there.Text = in.Text
		return
	}
	l.known[in.ID] = true
	l.inputs = append(l.inputs, in)
}

// take takes an input out of the queue.
func (l *log) take(id string) {
	l.inputs = slices.DeleteFunc(l.inputs, func(in Input) bool { return in.ID == id })
}

// progress applies a note about the turn in progress.
func (l *log) progress(r store.Record, n note) {
	l.message, l.repeated = nil, false
	l.open(r.Turn, r.Time)
	switch n := n.(type) {
	case run:
		l.waited(r.Time)
		l.begin(r.Turn)
		l.now.epoch, l.now.job, l.now.run, l.now.failed, l.now.crash, l.now.held = n.Epoch, n.Job, n.Run, n.Failed, nil, true
		l.now.claimed, l.now.proven, l.now.left = r.Time, false, false
		l.now.lost = l.now.lost && n.Epoch > 1
	case park:
		l.waited(r.Time) // of two waits of one worker, a try has been between
		if n.Run.Tries > 0 && n.Run.Tries == l.now.run.Tries {
			l.now.metrics.RetryCount-- // the same wait: that try was an early probe
		}
		l.now.run, l.now.waits, l.now.since, l.now.held, l.now.proven = n.Run, &n, r.Time, n.Held, true
	case crash:
		l.now.failed, l.now.crash, l.now.held = n.Run, &n, false
	case survive:
		l.now.proven = true
		if r.Time.Sub(l.now.claimed) >= longLife {
			l.now.failed = policy.Run{}
		}
	case release:
		l.now.held, l.now.left = false, l.now.left || n.Clean
	case abort:
		l.now.abort = true
	case move:
		l.moved(n, r.Time)
	}
}

// open makes a turn the one in progress, if it is not.
func (l *log) open(id string, at time.Time) {
	if l.now.id != id {
		l.now = current{id: id, began: at, with: l.settings, lost: l.gap}
	}
}

// begin takes the input of a turn that a worker has taken out of the queue: from here on it does not change.
func (l *log) begin(id string) {
	if in := l.input(id); in != nil {
		l.now.input, l.now.parent, l.now.untilReset = *in, in.Parent, in.UntilReset
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

// repeats reports whether an event is in the log for the second time: older versions appended a message again whose
// append a server had refused that was not the leader any more.
func (l *log) repeats(r store.Record, e turn.Event) bool {
	switch e.(type) {
	case turn.Start:
		return l.now.id == r.Turn && l.state.Next() != nil
	case turn.UserMessage, turn.AssistantMessage:
		l.repeated = reflect.DeepEqual(e, l.message)
		l.message = e
	case turn.Usage: // of the message before
	default:
		l.message, l.repeated = nil, false
	}
	return l.repeated
}

// event applies an event of a turn.
func (l *log) event(r store.Record, e turn.Event) {
	if l.repeats(r, e) {
		return
	}
	if _, steers := e.(turn.UserMessage); !steers { // an early probe takes it up, and the wait goes on
		l.waited(r.Time)
	}
	l.now.proven = l.now.proven || proves(e)
	switch e := e.(type) {
	case turn.Start:
		l.turns++
		l.take(e.ID)
		l.open(e.ID, r.Time)
	case turn.UserMessage:
		l.take(e.ID)
		e.Images = l.withFiles(e.Images)
		l.state = l.state.Apply(e)
		return
	case turn.AssistantMessage:
		l.now.run, l.now.failed = policy.Run{}, policy.Run{}
	case turn.ApprovalRequested:
		l.now.held, l.now.left, l.now.asked = false, true, r.Time
	case turn.ToolResult:
		l.now.failed = policy.Run{}
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

// proves reports whether an event shows that its worker did not die at the first thing that it did.
func proves(e turn.Event) bool {
	switch e.(type) {
	case turn.Start, turn.UserMessage, turn.ToolCall, turn.Restarted:
		return false
	}
	return true
}

// diedSoon reports whether the worker of the turn has died soon after its claim: the job of a turn that is
// held comes again only if its worker has died.
func (l *log) diedSoon() bool { return l.now.held && !l.now.proven }

// idle reports whether no turn is in progress.
func (l *log) idle() bool { return l.now.id == "" }

// check returns ErrNotFound for a log without a first record, and the damage of one without any.
func (l *log) check() error {
	switch {
	case !l.born.IsZero():
		return nil
	case len(l.lost) > 0:
		return &l.lost[0]
	}
	return fmt.Errorf("%w: %s", ErrNotFound, l.id)
}
