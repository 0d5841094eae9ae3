// Package chat stores the conversations of terminals in one of two places. A [Folder] is on this
// machine: each conversation has a store of its own, so that any number of terminals run side by
// side. A [Server] is a running server. Package tui shows both alike.
package chat

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
)

// Folder is a directory of conversations, each with a store of its own. The process that has a
// conversation open runs its turns, and no other process does. Runner is required.
type Folder struct {
	Dir     string                                 // "": conversations are in memory
	WorkDir string                                 // the working directory, kept with new conversations
	Runner  func(store.Store) *conversation.Runner // runs the turns of a store
	Log     *slog.Logger                           // nil: errors in the background are dropped

	// Override changes the settings of a conversation that is opened; nil keeps them.
	Override func(conversation.Settings) conversation.Settings
	// Validate completes and checks new settings; nil takes them as they are.
	Validate func(conversation.Settings) (conversation.Settings, error)
}

// New creates a conversation and opens it.
func (f Folder) New(ctx context.Context, s conversation.Settings) (tui.Conversation, error) {
	s, err := f.validate(s)
	if err != nil {
		return nil, err
	}
	l := &local{folder: f, id: conversation.NewID(), workDir: f.WorkDir}
	if l.store, err = f.openStore(ctx, l.id); err != nil {
		return nil, err
	}
	l.runner = f.Runner(l.store)
	if _, err := l.runner.Create(ctx, l.id, s); err != nil {
		return nil, errors.Join(err, l.store.Close(context.WithoutCancel(ctx)), f.remove(l.id))
	}
	return l.start(ctx)
}

// Open opens a conversation and continues its turns.
func (f Folder) Open(ctx context.Context, id string) (tui.Conversation, error) {
	if !f.has(id) {
		return nil, fmt.Errorf("%w: %s", conversation.ErrNotFound, id)
	}
	l := &local{folder: f, id: id}
	var err error
	if l.store, err = f.openBusyStore(ctx, id); err != nil {
		return nil, err
	}
	l.runner = f.Runner(l.store)
	if err := l.override(ctx); err != nil {
		return nil, errors.Join(err, l.store.Close(context.WithoutCancel(ctx)))
	}
	s, _ := readSummary(f.path(id)) // without it, only the working directory is lost
	l.workDir = s.WorkDir
	return l.start(ctx)
}

func (f Folder) validate(s conversation.Settings) (conversation.Settings, error) {
	if f.Validate == nil {
		return s, nil
	}
	return f.Validate(s)
}

// has reports whether there is a conversation id. A typed id cannot lead to another place.
func (f Folder) has(id string) bool {
	if f.Dir == "" || id == "" || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\`) {
		return false
	}
	return bolt.Exists(f.path(id))
}

func (f Folder) path(id string) string {
	if f.Dir == "" {
		return ""
	}
	return filepath.Join(f.Dir, id)
}

func (f Folder) openStore(ctx context.Context, id string) (store.Store, error) {
	if f.Dir == "" {
		return store.Memory(), nil
	}
	return bolt.Open(ctx, bolt.Config{Dir: f.path(id)})
}

// openBusyStore waits this long for a list, which opens a store for some milliseconds.
const (
	openTries = 20
	openPause = 25 * time.Millisecond
)

// openBusyStore opens a store that a list may have open.
func (f Folder) openBusyStore(ctx context.Context, id string) (opened store.Store, err error) {
	for range openTries {
		opened, err = f.openStore(ctx, id)
		if !errors.Is(err, store.ErrInUse) || retry.Sleep(ctx, openPause) != nil {
			break
		}
	}
	return opened, err
}

func (f Folder) remove(id string) error {
	if f.Dir == "" {
		return nil
	}
	return bolt.Remove(f.path(id))
}

// List yields the conversations that have inputs, the latest first. It does not touch one that is
// open elsewhere, and does not continue the turns of one whose process died.
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
			if e, listed := f.entry(ctx, d.Name()); listed {
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

// entry returns the entry of a conversation in the list; false: it has no input.
func (f Folder) entry(ctx context.Context, id string) (e tui.Entry, listed bool) {
	s, err := readSummary(f.path(id))
	if err != nil || !s.upToDate(f.path(id)) {
		return f.inspect(ctx, id, s)
	}
	return s.entry(id), s.HasInput
}

// inspect reads a store whose summary may be stale, and renews the summary.
func (f Folder) inspect(ctx context.Context, id string, s summary) (e tui.Entry, listed bool) {
	opened, err := f.openStore(ctx, id)
	if err != nil { // in use, or damaged, which is reported when it is opened
		e = s.entry(id)
		e.InUse = errors.Is(err, store.ErrInUse)
		return e, s.HasInput || !e.InUse
	}
	l := &local{folder: f, id: id, workDir: s.WorkDir, store: opened, runner: conversation.New(conversation.Config{Store: opened})}
	s, err = l.closeStore(ctx)
	switch {
	case err != nil:
		f.warn("inspect conversation", id, err)
		return s.entry(id), true
	case !s.HasInput: // its process died before the first input
		f.warn("remove empty conversation", id, f.remove(id))
	}
	return s.entry(id), s.HasInput
}

func (f Folder) warn(operation, id string, err error) {
	if f.Log != nil && err != nil {
		f.Log.Warn(operation, "conversation", id, "error", err)
	}
}

// summary is a conversation's entry in a list, in a file beside its store. It is valid until the store is opened
// again, which changes the time of its lock.
type summary struct {
	View     conversation.View
	WorkDir  string    // the working directory in which the conversation was created
	HasInput bool      // the conversation has inputs
	Open     bool      // written while the conversation was open: more may have happened
	Opened   time.Time // when the store was last opened
}

const summaryName = "summary.json"

func readSummary(dir string) (s summary, err error) {
	if dir == "" {
		return s, os.ErrNotExist
	}
	text, err := os.ReadFile(filepath.Join(dir, summaryName))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

func (s summary) write(dir string) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.Write(filepath.Join(dir, summaryName), text)
}

// upToDate reports whether the store has not been opened since the summary was written.
func (s summary) upToDate(dir string) bool { return !s.Open && s.Opened.Equal(lastOpened(dir)) }

func lastOpened(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (s summary) entry(id string) tui.Entry {
	s.View.ID = id
	return tui.Entry{View: s.View, Folder: s.WorkDir}
}

// shorten drops the parts of a view that may be long and that a list does not show.
func shorten(v conversation.View) conversation.View {
	v.Settings.System, v.Inputs = "", nil
	return v
}
