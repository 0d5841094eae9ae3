package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// ErrAnswered is returned where no input is left to answer.
var ErrAnswered = errors.New("nothing is left to answer there")

// Change changes the settings of a conversation. Turns that begin from here on are made with them; the one in
// progress keeps what it has, also where another worker resumes it. To change nothing leaves no trace.
func (r *Runner) Change(ctx context.Context, conversation string, s Settings) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	differ := func(l *log) error {
		if reflect.DeepEqual(l.settings, s) {
			return errKnown
		}
		return nil
	}
	return r.append(ctx, l, "", differ, one(wire.ConversationChanged{ConversationID: l.id, Settings: s}))
}

// caption is what lists show of a conversation. They read the first record of a log and the last one, so each that
// is the last bears it.
type caption struct {
	Model  string    `json:"model"`
	Title  string    `json:"title,omitzero"`
	Turns  int       `json:"turns,omitzero"`
	Paused time.Time `json:"pausedSince,omitzero"`
}

// captioned is what a list reads of a record.
type captioned struct {
	Caption *caption `json:"caption,omitzero"` // nil: the settings are those of the first record
}

// addCaption writes the caption into the last of some records, if there is to be one.
func (l *log) addCaption(records []store.Record) error {
	last := &records[len(records)-1]
	c := caption{l.settings.Model, l.settings.Title, l.turns, l.paused}
	needed := l.changed || l.turns > 0
	if last.Type == changed || l.renames(*last) { // the title is another one from here on
		c.Title, needed = "", false
	}
	if !needed && !l.isPaused() {
		return nil
	}
	more, err := json.Marshal(captioned{&c})
	if err != nil {
		return err
	}
	if string(last.Body) != "{}" {
		more = append(append(last.Body[:len(last.Body)-1:len(last.Body)-1], ','), more[1:]...)
	}
	last.Body = more
	return nil
}

// headline returns the settings of a conversation as lists show them: those of its first record, as far as the last
// one has no others in it. c has the turns that have begun, and a pause, as that one states them.
func (r *Runner) headline(ctx context.Context, s Settings, head store.Head) (now Settings, c caption) {
	last := head.Last
	var found captioned
	if json.Unmarshal(last.Body, &found) == nil && found.Caption != nil {
		c = *found.Caption
		s.Model, s.Title = c.Model, c.Title
	}
	switch last.Type {
	case changed:
		if now, err := read[Settings](last); err == nil {
			s = now
		}
	case paused:
		c.Paused = last.Time
	case resumed:
		c.Paused = time.Time{}
	}
	if s.Title == "" && last.Type != created {
		s.Title = r.firstWords(ctx, head.ID)
	}
	return s, c
}

// RetryTurn starts a turn without input that answers what the last turn, failed or stopped, has left
// unanswered. id is that of the new turn; "": one is made up. A second call with the same id changes nothing.
// The error is ErrAnswered while a turn is in progress, and when there is nothing to answer.
func (r *Runner) RetryTurn(ctx context.Context, conversation, id string) (string, error) {
	return r.retryTurn(ctx, conversation, id, wire.InputQueued{})
}

// WaitForWindow is RetryTurn, and the turn waits for a usage window that is spent until it opens, whatever its policy
// says of that.
func (r *Runner) WaitForWindow(ctx context.Context, conversation, id string) (string, error) {
	return r.retryTurn(ctx, conversation, id, wire.InputQueued{UntilReset: true})
}

func (r *Runner) retryTurn(ctx context.Context, conversation, id string, in wire.InputQueued) (string, error) {
	return r.accept(ctx, conversation, id, in, func(l *log) error {
		if !l.idle() || !l.state.Unanswered() {
			return ErrAnswered
		}
		return nil
	})
}
