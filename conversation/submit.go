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

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
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
func (r *Runner) Create(ctx context.Context, id string, s Settings) (string, error) {
	id = cmp.Or(id, NewID())
	rec, err := CreatedRecord(s, time.Now().UTC())
	if err != nil {
		return "", err
	}
	_, err = r.Store.Append(ctx, id, store.Position{}, rec)
	if errors.Is(err, store.ErrConflict) {
		err = ErrExists
	}
	r.recent.stale()
	return id, err
}

// Submit accepts a user's input: a text, and the images that it is about. Its turn begins when those before it are
// sealed. id is the turn's; "": one is made up. The input is durable when Submit returns. A second call with the same
// id changes nothing.
func (r *Runner) Submit(ctx context.Context, conversation, id, text string, images ...llm.Image) (string, error) {
	if err := checkText(text); err != nil {
		return "", err
	}
	images, err := checkImages(images)
	if err != nil {
		return "", err
	}
	return r.accept(ctx, conversation, id, wire.InputQueued{Text: text, Images: images}, roomForInput)
}

// Compact has a turn that replaces the oldest messages by a summary, as an overflow of the model does. It waits for
// the turns before it, and a model that fails is waited for as in any turn. instruction is what the user asks of
// the summary; "": nothing. id is as of Submit.
func (r *Runner) Compact(ctx context.Context, conversation, id, instruction string) (string, error) {
	if instruction != "" {
		if err := checkText(instruction); err != nil {
			return "", err
		}
	}
	return r.accept(ctx, conversation, id, wire.InputQueued{Text: instruction, Compact: true}, roomForInput)
}

// roomForInput refuses an input where too many wait.
func roomForInput(l *log) error {
	if len(l.inputs) >= MaxQueue {
		return fmt.Errorf("%w: %d", ErrQueueFull, len(l.inputs))
	}
	return nil
}

// parentKey is the key of a traceparent in a context.
type parentKey struct{}

// parentBound bounds a traceparent; those of its first version have 55 letters.
const parentBound = 128

// WithParent returns a context in which inputs are submitted for a traced request: the spans of their turns are
// its children, in whichever process they run. parent is its traceparent (W3C Trace Context); "": none.
func WithParent(ctx context.Context, parent string) context.Context {
	if parent == "" || len(parent) > parentBound {
		return ctx
	}
	return context.WithValue(ctx, parentKey{}, parent)
}

// inputDelay is how long a worker waits for the input of a job that it has.
const inputDelay = 10 * time.Second

// accept puts an input into the log, if it may be taken. Its job comes first, and waits for the input for a
// while: so an input that is in the log has a job, whenever the process dies.
func (r *Runner) accept(ctx context.Context, conversation, id string, in wire.InputQueued, may func(*log) error) (string, error) {
	id = cmp.Or(id, NewID())
	l, err := r.load(ctx, conversation)
	if err != nil {
		return "", err
	}
	defer r.cache.put(l)
	if l.known[id] {
		return id, nil
	}
	if err := may(l); err != nil {
		return "", err
	}
	if err := r.storeImages(ctx, l, id, in.Images, may); err != nil {
		return "", err
	}
	began := time.Now()
	if err := r.Store.Enqueue(ctx, newJob(l, id, payload{})); err != nil {
		return "", err
	}
	in.Ref = wire.Ref{ConversationID: l.id, TurnID: id}
	in.Parent, _ = ctx.Value(parentKey{}).(string)
	missing := func(l *log) error {
		if l.known[id] {
			return errKnown
		}
		return may(l)
	}
	if err := r.append(ctx, l, id, missing, one(in)); err != nil {
		return "", err
	}
	if time.Since(began) > inputDelay/2 { // its job may not have waited so long
		if err := r.enqueueAccepted(context.WithoutCancel(ctx), newJob(l, id, payload{})); err != nil {
			return "", err
		}
	}
	return id, nil
}

// awaitInput waits until the input of a turn is in the log: its job was enqueued first. An input that does not come
// was never accepted, and that is recorded: only an append proves that nothing was appended before.
func (r *Runner) awaitInput(ctx context.Context, l *log, turnID string) error {
	if l.known[turnID] || l.now.id == turnID {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, inputDelay)
	defer cancel()
	appended, err := r.Store.Subscribe(waiting, l.id)
	if err != nil {
		return err
	}
	for err = r.catchUp(ctx, l); err == nil && !l.known[turnID]; err = r.catchUp(ctx, l) {
		select {
		case <-appended:
		case <-waiting.Done():
			if ctx.Err() != nil {
				return retry.ErrParked // the next runner waits for it
			}
			once := func(l *log) error {
				if _, seen := l.known[turnID]; seen { // it has come, or a worker that had the job before has removed it
					return errKnown
				}
				return nil
			}
			return r.append(ctx, l, turnID, once, one(wire.InputRemoved{Ref: wire.Ref{ConversationID: l.id, TurnID: turnID}}))
		}
	}
	return err
}

// errKnown: it is in the log already.
var errKnown = errors.New("known")

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

// changeInput appends a record about an input that waits. now is the turn that is in progress then; "": none is.
func (r *Runner) changeInput(ctx context.Context, conversation, input string, content any) (now string, err error) {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return "", err
	}
	defer r.cache.put(l)
	in := l.input(input)
	if q, edits := content.(wire.InputQueued); edits && in != nil {
		q.Images = in.Images
		content = q
	}
	waiting := func(l *log) error {
		in := l.input(input)
		if _, removes := content.(wire.InputRemoved); in == nil || !removes && (in.Text == "" || in.Compact) { // it says nothing: a model is to be asked again
			return ErrNotQueued
		}
		return nil
	}
	err = r.append(ctx, l, input, waiting, one(content))
	return l.now.id, err
}

// Edit replaces the text of an input that waits. Its images stay.
func (r *Runner) Edit(ctx context.Context, conversation, input, text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	_, err := r.changeInput(ctx, conversation, input, wire.InputQueued{Ref: wire.Ref{ConversationID: conversation, TurnID: input}, Text: text})
	return err
}

// Remove removes an input that waits.
func (r *Runner) Remove(ctx context.Context, conversation, input string) error {
	_, err := r.changeInput(ctx, conversation, input, wire.InputRemoved{Ref: wire.Ref{ConversationID: conversation, TurnID: input}})
	return err
}

// Steer lets the turn in progress take up an input that waits, before it asks a
// model again. If it does not, the input has a turn of its own.
func (r *Runner) Steer(ctx context.Context, conversation, input string) error {
	now, err := r.changeInput(ctx, conversation, input, steer{})
	if err != nil || now == "" {
		return err
	}
	return r.Store.Publish(ctx, control(conversation, now), []byte(sayLook))
}

// Delete deletes a conversation for good. A turn in progress ends, and so does what readers have attached.
func (r *Runner) Delete(ctx context.Context, conversation string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	if err := r.Store.Delete(ctx, conversation); err != nil {
		return err
	}
	r.recent.drop(conversation)
	r.endWait(ctx, conversation, "", true)
	err = r.Store.Publish(ctx, conversation, []byte(sayGone))
	if l.idle() {
		return err
	}
	return errors.Join(err, r.Store.Publish(ctx, control(conversation, l.now.id), []byte(sayStop)), r.Store.Unschedule(ctx, jobID(conversation, l.now.id)))
}

// View is the state of a conversation.
type View struct {
	ID       string
	Settings Settings
	Created  time.Time
	Changed  time.Time
	Last     int64          // the number of its last record
	Turns    int            // that have begun, as far as is known
	Turn     string         // the one in progress; "": none
	Wait     *Wait          // that the turn is in; nil: none
	Approval *Approval      // that the turn waits for; nil: none
	Inputs   []Input        // what waits for its turn
	Paused   time.Time      // since when; zero: it is not
	Lost     []store.Damage // what the store has lost of its record
}

// Get returns the state of a conversation.
func (r *Runner) Get(ctx context.Context, conversation string) (View, error) {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return View{}, err
	}
	defer r.cache.put(l)
	v := l.view()
	v.Inputs = slices.Clone(l.inputs)
	return v, nil
}

// view returns the state of a conversation without its inputs.
func (l *log) view() View {
	return View{ID: l.id, Settings: l.settings, Created: l.born, Changed: l.touched, Last: l.at.N, Turns: l.turns, Turn: l.now.id, Wait: l.shownWait(), Approval: l.approval(), Paused: l.paused, Lost: l.lost}
}
