// Package historykv keeps the histories of a fleet's gateways in the entries of a store, which are on NATS servers, and
// shows them as one. Each gateway keeps its own there, so that one which is killed loses some seconds. Those of gateways
// that are gone are joined after a while.
package historykv

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/largevalue"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/store"
)

const (
	tick        = time.Second
	saveEvery   = 5 * time.Second
	loadEvery   = 2 * time.Second // while it is shown
	shownFor    = 10 * time.Second
	firstLoad   = 500 * time.Millisecond // for which a reader waits, at most
	showEvery   = time.Second
	timeout     = 5 * time.Second
	joinEvery   = 10 * time.Minute
	joinAfter   = 24 * time.Hour // since a gateway that is gone has saved its history
	joinSooner  = time.Hour      // where more are gone than mostGone
	mostGone    = 32
	mostText    = 64 << 20
	mostPacked  = 4 << 20 // bytes of all histories
	mostMembers = 1024
)

// Config says whose history is kept, and where.
type Config struct {
	KV      store.KV
	Name    string           // of the fleet: letters, digits, - and _
	ID      string           // of this gateway, which no other has, in an earlier process neither
	Own     *history.History // of this gateway
	Members func() []string  // the gateways that run, this one included; the first of them joins histories
	Log     *slog.Logger
}

// Keeper keeps the history of a gateway, and shows those of all. Its methods may be called concurrently.
type Keeper struct {
	Config

	mu     sync.Mutex
	before *history.History    // of gateways that are gone; nil: none is loaded
	others map[string]*another // by id
	asked  time.Time           // when it was shown last
	loaded chan struct{}       // closed after the next load; nil: no reader waits
	sum    *history.History    // what is shown
	summed time.Time

	wake chan struct{}

	// Of Run.
	rev     uint64 // of before
	listed  bool   // its id is in the list
	unsaved bool   // why the history is not saved has been logged
}

// another is the history of another gateway.
type another struct {
	*history.History
	revision uint64
	over     bool // it was gone when it was loaded
}

// New returns the keeper of a gateway. Run keeps.
func New(c Config) *Keeper {
	return &Keeper{Config: c, others: map[string]*another{}, wake: make(chan struct{}, 1)}
}

// Run keeps the history until ctx ends, and then once more.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var loaded, saved, joined time.Time
	learned := k.learn(ctx)
	for joined = time.Now(); ctx.Err() == nil; {
		select {
		case <-ticker.C:
		case <-k.wake:
			loaded = time.Time{}
		case <-ctx.Done():
			continue
		}
		now := time.Now()
		if learned = learned || k.learn(ctx); !learned {
			continue
		}
		switch shown := k.isShown(now); {
		case !shown:
			k.unload()
		case now.Sub(loaded) >= loadEvery:
			k.load(ctx)
			loaded = time.Now()
		}
		if now.Sub(saved) >= saveEvery {
			k.save(ctx)
			saved = time.Now()
		}
		if now.Sub(joined) >= joinEvery && k.Members()[0] == k.ID {
			k.joinGone(ctx, now)
			joined = now
		}
	}
	k.save(context.WithoutCancel(ctx))
}

// value is the place of a gateway's history; "": of those that have been joined.
func (k *Keeper) value(id string) largevalue.Value {
	return largevalue.Value{KV: k.KV, Key: strings.TrimSuffix("history-"+k.Name+"-"+id, "-")}
}

// loadOne loads a history; nil: there is none, or known is its revision. What cannot be read is none.
func (k *Keeper) loadOne(ctx context.Context, id string, known uint64) (*history.History, uint64, error) {
	packed, revision, err := k.value(id).Load(ctx, known)
	if err != nil || packed == nil {
		return nil, revision, err
	}
	var text []byte
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(r, mostText))
	}
	var h *history.History
	if err == nil {
		h, err = history.Read(text)
	}
	if err != nil {
		k.Log.Warn("history cannot be read", "gateway", id, "error", err)
		return nil, revision, nil
	}
	return h, revision, nil
}

// listKey is the entry with the ids of all gateways whose histories are kept.
func (k *Keeper) listKey() string { return "histories-" + k.Name }

// ids returns the ids of the gateways whose histories are kept, and the entry that lists them.
func (k *Keeper) ids(ctx context.Context) (ids []string, e store.Entry, err error) {
	if e, err = k.KV.Get(ctx, k.listKey()); err == nil && e.Value != nil {
		_ = json.Unmarshal(e.Value, &ids) // what cannot be read is none
	}
	return ids, e, err
}

// changeIDs changes the list of them.
func (k *Keeper) changeIDs(ctx context.Context, change func([]string) []string) error {
	for {
		ids, e, err := k.ids(ctx)
		if err != nil {
			return err
		}
		ids = change(ids)
		e.Key = k.listKey()
		if e.Value, err = json.Marshal(ids[max(0, len(ids)-mostMembers):]); err != nil {
			return fmt.Errorf("list of histories: %w", err)
		}
		if _, err = k.KV.Put(ctx, e, 0); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// learn takes over what gateways before have learned of upstreams; false: the store does not answer.
func (k *Keeper) learn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ids, _, err := k.ids(ctx)
	for _, id := range append(ids, "") {
		if err != nil {
			return false
		}
		var h *history.History
		if h, _, err = k.loadOne(ctx, id, 0); h != nil {
			k.Own.Learn(h)
		}
	}
	return err == nil
}

// save saves the own history, if it has changed.
func (k *Keeper) save(ctx context.Context) {
	text, err := k.Own.Text()
	if text == nil && err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err == nil {
		err = k.saveText(ctx, k.ID, text)
	}
	if err == nil && !k.listed {
		err = k.changeIDs(ctx, func(ids []string) []string { return append(ids, k.ID) })
		k.listed = err == nil
	}
	if err != nil {
		k.Own.Unsaved()
	}
	k.report(err)
}

// report logs why the history is not saved, once until it is again. That the store is away is known otherwise.
func (k *Keeper) report(err error) {
	away := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNotOpen) || errors.Is(err, store.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
	if err != nil && !away && !k.unsaved {
		k.Log.Warn("history not saved", "error", err)
	}
	k.unsaved = err != nil && (k.unsaved || !away)
}

// saveText saves the text of a history. All of them have a bound, of which each has a part.
func (k *Keeper) saveText(ctx context.Context, id string, text []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("compress history: %w", err)
	}
	if packed.Len() > mostPacked/(1+len(k.Members())) {
		return fmt.Errorf("history of %d bytes: %w", packed.Len(), store.ErrTooLarge)
	}
	return k.value(id).Save(ctx, packed.Bytes(), 0)
}

// isShown reports whether the histories are looked at.
func (k *Keeper) isShown(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Sub(k.asked) < shownFor
}

// unload forgets the histories of the others, which are not shown.
func (k *Keeper) unload() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rev, k.before, k.sum = 0, nil, nil
	clear(k.others)
}

// load loads the histories of the others.
func (k *Keeper) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ids, _, err := k.ids(ctx)
	if before, rev, loadErr := k.loadOne(ctx, "", k.rev); loadErr == nil && before != nil {
		k.rev = rev
		k.mu.Lock()
		k.before = before
		k.mu.Unlock()
	}
	members := k.Members()
	for _, id := range ids {
		if err != nil {
			break
		}
		if id != k.ID {
			err = k.loadAnother(ctx, id, !slices.Contains(members, id))
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.others {
		if err == nil && !slices.Contains(ids, id) {
			delete(k.others, id)
		}
	}
	k.summed = time.Time{}
	if k.loaded != nil {
		close(k.loaded)
		k.loaded = nil
	}
}

// loadAnother loads the history of another gateway. That of one which is gone changes no more.
func (k *Keeper) loadAnother(ctx context.Context, id string, over bool) error {
	k.mu.Lock()
	o := k.others[id]
	k.mu.Unlock()
	if o == nil {
		o = &another{}
	}
	if o.over && over {
		return nil
	}
	h, revision, err := k.loadOne(ctx, id, o.revision)
	if err != nil {
		return err
	}
	if h == nil {
		h, revision = o.History, o.revision
	}
	if h != nil {
		k.mu.Lock()
		k.others[id] = &another{h, revision, over}
		k.mu.Unlock()
	}
	return nil
}

// Shown returns the history of the fleet, as it was some seconds ago at the others.
func (k *Keeper) Shown() *history.History {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if first := now.Sub(k.asked) >= shownFor; first {
		if k.loaded == nil {
			k.loaded = make(chan struct{})
		}
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	k.asked = now
	if loaded := k.loaded; loaded != nil {
		k.mu.Unlock()
		k.await(loaded)
		k.mu.Lock()
	}
	if now = time.Now(); k.sum == nil || now.Sub(k.summed) >= showEvery {
		k.sum, k.summed = history.Sum(now, k.parts()...), now
	}
	return k.sum
}

// await waits for the first load, which may not come.
func (k *Keeper) await(loaded <-chan struct{}) {
	timer := time.NewTimer(firstLoad)
	defer timer.Stop()
	select {
	case <-loaded:
	case <-timer.C:
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.loaded == loaded {
			k.loaded = nil // the next reader does not wait
		}
	}
}

// parts returns all histories. mu is held.
func (k *Keeper) parts() []history.Part {
	all := []history.Part{{History: k.Own, Name: k.ID}}
	for id, o := range k.others {
		all = append(all, history.Part{History: o.History, Name: id, Over: o.over})
	}
	slices.SortFunc(all, func(a, b history.Part) int { return strings.Compare(a.Name, b.Name) })
	if k.before != nil {
		joined := k.before.Joined()
		all = slices.DeleteFunc(all, func(p history.Part) bool { return slices.Contains(joined, p.Name) })
		all = append(all, history.Part{History: k.before, Over: true})
	}
	return all
}
