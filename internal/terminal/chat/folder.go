package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// Folder is a folder with conversations, each in a directory of its own that is
// a store: what works on stores works on it. Whoever has a conversation open
// works on it, and nobody else does.
type Folder struct {
	Dir      string                                                     // "": nothing is kept
	WorkDir  string                                                     // the working directory, by which new conversations are found again
	Runner   func(store.Store) *conversation.Runner                     // makes who works on a conversation
	Override func(conversation.Settings) conversation.Settings          // changes those of a conversation as it is opened; nil: does not
	Validate func(conversation.Settings) (conversation.Settings, error) // completes and checks what one is made with; nil: takes it as it is
	Log      *slog.Logger                                               // told of what goes wrong unseen; nil: nobody is
}

// New makes a conversation and opens it.
func (f Folder) New(ctx context.Context, s conversation.Settings) (tui.Conversation, error) {
	s, err := f.settle(s)
	if err != nil {
		return nil, err
	}
	id := conversation.NewID()
	opened, err := f.store(ctx, id)
	if err != nil {
		return nil, err
	}
	host := f.Runner(opened)
	if _, err := host.Create(ctx, id, s); err != nil {
		return nil, errors.Join(err, opened.Close(context.WithoutCancel(ctx)), f.remove(id))
	}
	return f.begin(ctx, id, opened, host, f.WorkDir)
}

// Open opens a conversation, and goes on with what is under way there.
func (f Folder) Open(ctx context.Context, id string) (tui.Conversation, error) {
	if !f.has(id) {
		return nil, fmt.Errorf("%w: %s", conversation.ErrNone, id)
	}
	opened, err := f.patiently(ctx, id)
	if err != nil {
		return nil, err
	}
	host := f.Runner(opened)
	if err := f.adjust(ctx, host, id); err != nil {
		return nil, errors.Join(err, opened.Close(context.WithoutCancel(ctx)))
	}
	was, _ := readHead(f.path(id)) // of one that cannot be read, only where it was begun is lost
	return f.begin(ctx, id, opened, host, was.Folder)
}

// adjust sees to the settings of a conversation that is opened.
func (f Folder) adjust(ctx context.Context, host *conversation.Runner, id string) error {
	v, err := host.Get(ctx, id)
	if err != nil {
		return err
	}
	s := v.Settings
	if f.Override != nil {
		s = f.Override(s)
	}
	if s, err = f.settle(s); err != nil {
		return err
	}
	return host.Change(ctx, id, s)
}

// settle completes settings, or says what is wrong with them.
func (f Folder) settle(s conversation.Settings) (conversation.Settings, error) {
	if f.Validate == nil {
		return s, nil
	}
	return f.Validate(s)
}

// has tells whether there is a conversation of an id. What somebody has typed
// leads nowhere else.
func (f Folder) has(id string) bool {
	if f.Dir == "" || id == "" || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\`) {
		return false
	}
	_, err := os.Stat(filepath.Join(f.path(id), "mode"))
	return err == nil
}

// path is the directory of a conversation; "": nothing is kept.
func (f Folder) path(id string) string {
	if f.Dir == "" {
		return ""
	}
	return filepath.Join(f.Dir, id)
}

// store opens the store of a conversation.
func (f Folder) store(ctx context.Context, id string) (store.Store, error) {
	if f.Dir == "" {
		return store.Memory(), nil
	}
	return store.Open(ctx, store.Config{Dir: f.path(id)})
}

// A store that is looked at for a list is in use for some milliseconds.
const (
	looks    = 20
	lookRest = 25 * time.Millisecond
)

// patiently is store where somebody may be looking at it.
func (f Folder) patiently(ctx context.Context, id string) (opened store.Store, err error) {
	for range looks {
		opened, err = f.store(ctx, id)
		if !errors.Is(err, store.ErrInUse) || retry.Sleep(ctx, lookRest) != nil {
			break
		}
	}
	return opened, err
}

// remove takes a conversation away.
func (f Folder) remove(id string) error {
	if f.Dir == "" {
		return nil
	}
	return store.Remove(f.path(id))
}

// List yields the conversations in which something was said, those first in
// which something has happened last. A conversation that is open somewhere is
// not touched; one whose process has died is looked at, and nobody works on it.
func (f Folder) List(ctx context.Context) iter.Seq2[tui.Entry, error] {
	return func(yield func(tui.Entry, error) bool) {
		dirs, err := os.ReadDir(f.Dir)
		if f.Dir == "" || errors.Is(err, os.ErrNotExist) {
			return
		}
		if err != nil {
			yield(tui.Entry{}, err)
			return
		}
		var all []tui.Entry
		for _, d := range dirs {
			if !f.has(d.Name()) {
				continue
			}
			if e, kept := f.entry(ctx, d.Name()); kept {
				all = append(all, e)
			}
		}
		slices.SortStableFunc(all, func(a, b tui.Entry) int {
			return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(b.ID, a.ID))
		})
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entry gives what a list shows of a conversation; false: nothing was said in
// it.
func (f Folder) entry(ctx context.Context, id string) (e tui.Entry, kept bool) {
	h, err := readHead(f.path(id))
	if err != nil || !h.holds(f.path(id)) {
		return f.look(ctx, id, h)
	}
	return h.entry(id), h.Said
}

// look looks into a store of which the head may not tell the truth, and writes
// it anew.
func (f Folder) look(ctx context.Context, id string, h head) (e tui.Entry, kept bool) {
	opened, err := f.store(ctx, id)
	if err != nil { // somebody has it, or it is damaged, which is told to whoever opens it
		e = h.entry(id)
		e.InUse = errors.Is(err, store.ErrInUse)
		return e, h.Said || !e.InUse
	}
	h, err = f.shut(ctx, id, opened, conversation.New(conversation.Config{Store: opened}), h.Folder)
	switch {
	case err != nil:
		f.tell("looking at a conversation", id, err)
		return h.entry(id), true
	case !h.Said: // its process has died before anybody said anything
		f.tell("removing a conversation", id, f.remove(id))
	}
	return h.entry(id), h.Said
}

// tell tells of something that has gone wrong.
func (f Folder) tell(what, id string, err error) {
	if f.Log != nil && err != nil {
		f.Log.Warn(what, "conversation", id, "error", err)
	}
}
