package conversation

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// Limits of inputs.
const (
	MaxText  = 384 << 10 // of one input, in bytes
	MaxQueue = 1000      // inputs that wait in one conversation
)

// Errors of [Runner.Submit].
var (
	ErrInvalidText = errors.New("the input cannot be taken")
	ErrQueueFull   = errors.New("too many inputs are waiting")
)

// NewID returns an id that sorts by the time at which it was made.
func NewID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:10])
}

// Create makes a conversation; id "": one is made up.
func (h *Runner) Create(ctx context.Context, id string, s Settings) (string, error) {
	id = cmp.Or(id, NewID())
	r, err := CreatedRecord(s, time.Now().UTC())
	if err != nil {
		return "", err
	}
	_, err = h.Store.Append(ctx, id, store.Position{}, r)
	if errors.Is(err, store.ErrConflict) {
		err = ErrExists
	}
	h.recent.stale()
	return id, err
}

// Submit accepts a user's input. Its turn begins when those before it are sealed. id is the turn's; "": one
// is made up. The input is durable when Submit returns. A second call with the same id changes nothing.
func (h *Runner) Submit(ctx context.Context, conversation, id, text string) (string, error) {
	if err := checkText(text); err != nil {
		return "", err
	}
	return h.accept(ctx, conversation, id, payload{Text: text}, func(l *log) error {
		if len(l.inputs) >= MaxQueue {
			return fmt.Errorf("%w: %d", ErrQueueFull, len(l.inputs))
		}
		return nil
	})
}

// accept takes an input, if it may be taken.
func (h *Runner) accept(ctx context.Context, conversation, id string, e payload, may func(*log) error) (string, error) {
	id = cmp.Or(id, NewID())
	e.Turn = id
	l, err := h.load(ctx, conversation)
	if err != nil {
		return "", err
	}
	if l.known[id] {
		return id, nil
	}
	if err := may(l); err != nil {
		return "", err
	}
	if err := h.Store.Enqueue(ctx, newJob(conversation, id, id, e)); err != nil {
		return "", err
	}
	// From here on it is taken; that it shows at once is for those who watch.
	switch err := h.recordInput(ctx, l, e); {
	case errors.Is(err, store.ErrDeleted):
		return "", err
	case err != nil:
		h.Log.Warn("accepted input not recorded yet", "conversation", conversation, "error", err)
		return id, nil
	}
	h.cache.put(l)
	return id, nil
}

// checkText returns an error for a text that is not accepted.
func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidText)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: it is no valid UTF-8", ErrInvalidText)
	case len(text) > MaxText:
		return fmt.Errorf("%w: it is longer than %d KiB", ErrInvalidText, MaxText>>10)
	}
	return nil
}

// changeInput appends a record about an input that waits.
func (h *Runner) changeInput(ctx context.Context, conversation, input, kind string, body func(wire.Ref) any) error {
	l, err := h.load(ctx, conversation)
	if err != nil {
		return err
	}
	waiting := func(l *log) error {
		if !l.waits(input) || kind != inputRemoved && l.empty(input) {
			return ErrNotQueued
		}
		return nil
	}
	return h.append(ctx, l, waiting, func(now time.Time) ([]store.Record, error) {
		r, err := record(kind, input, body(wire.Ref{ConversationID: conversation, TurnID: input}), now)
		return []store.Record{r}, err
	})
}

// Edit replaces the text of an input that waits.
func (h *Runner) Edit(ctx context.Context, conversation, input, text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	return h.changeInput(ctx, conversation, input, inputQueued, func(c wire.Ref) any { return wire.InputQueued{Ref: c, Text: text} })
}

// Remove removes an input that waits.
func (h *Runner) Remove(ctx context.Context, conversation, input string) error {
	return h.changeInput(ctx, conversation, input, inputRemoved, func(c wire.Ref) any { return wire.InputRemoved{Ref: c} })
}

// Steer lets the turn in progress take up an input that waits, before it asks a
// model again. If it does not, the input has a turn of its own.
func (h *Runner) Steer(ctx context.Context, conversation, input string) error {
	if err := h.changeInput(ctx, conversation, input, steers, func(c wire.Ref) any { return c }); err != nil {
		return err
	}
	l, err := h.load(ctx, conversation)
	if err != nil || l.idle() {
		return err
	}
	return h.Store.Publish(ctx, control(conversation, l.now.id), []byte(sayLook))
}

// Delete deletes a conversation for good. A turn in progress ends, and so does what readers have attached.
func (h *Runner) Delete(ctx context.Context, conversation string) error {
	l, err := h.load(ctx, conversation)
	if err != nil {
		return err
	}
	if err := h.Store.Delete(ctx, conversation); err != nil {
		return err
	}
	h.recent.drop(conversation)
	h.endWait(ctx, conversation, "", true)
	err = h.Store.Publish(ctx, conversation, []byte(sayGone))
	if l.idle() {
		return err
	}
	return errors.Join(err, h.Store.Publish(ctx, control(conversation, l.now.id), []byte(sayStop)), h.Store.Unschedule(ctx, jobID(conversation, l.now.id)))
}

// View is the state of a conversation.
type View struct {
	ID       string
	Settings Settings
	Created  time.Time
	Changed  time.Time
	Last     int64   // the number of its last record
	Turn     string  // the one in progress; "": none
	Wait     *Wait   // that the turn is in; nil: none
	Inputs   []Input // what waits for its turn
}

// Get returns the state of a conversation.
func (h *Runner) Get(ctx context.Context, conversation string) (View, error) {
	l, err := h.load(ctx, conversation)
	if err != nil {
		return View{}, err
	}
	defer h.cache.put(l)
	v := l.view()
	v.Inputs = slices.Clone(l.inputs)
	return v, nil
}

// view returns the state of a conversation without its inputs.
func (l *log) view() View {
	return View{ID: l.id, Settings: l.settings, Created: l.born, Changed: l.touched, Last: l.at.N, Turn: l.now.id, Wait: l.wait()}
}
