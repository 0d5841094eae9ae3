package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/largevalue"
	"github.com/ridethrough/ridethrough/store"
)

const (
	saveEvery   = 5 * time.Second
	loadEvery   = 2 * time.Second // while it is shown
	shownFor    = 10 * time.Second
	firstLoad   = 500 * time.Millisecond // for which a reader waits, at most
	showEvery   = time.Second
	timeout     = 5 * time.Second
	adoptEvery  = 10 * time.Minute
	adoptAfter  = 25 * time.Hour // since a gateway that is gone has saved its history, of which no figure counts then
	adoptSooner = time.Hour      // where more are gone than mostGone
	mostGone    = 32
	mostText    = 64 << 20
	mostPacked  = 4 << 20 // bytes of all histories
	mostMembers = 1024
)

// Keeper stores the history of a fleet's gateway in the entries of a store, which is on NATS servers, and shows the
// histories of all gateways as one. A gateway that is killed loses some seconds. Another gateway adopts the history
// of a gone one after a while. Its methods may be called concurrently.
type Keeper struct {
	KV      store.KV
	Name    string          // of the fleet: letters, digits, - and _
	ID      string          // of this gateway, which no other has, in an earlier process neither
	Own     *History        // of this gateway
	Members func() []string // the gateways that run, this one included; the first of them adopts
	Log     *slog.Logger

	mu     sync.Mutex
	others map[string]another // by id
	asked  time.Time          // when it was shown last
	sum    *History           // what is shown
	summed time.Time

	// Of Run.
	listed  bool // its id is in the list
	unsaved bool // why the history is not saved has been logged
}

type another struct {
	*History
	revision uint64
}

// Run stores the history until ctx ends, and then once more.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	loaded, saved, adopted := time.Time{}, time.Time{}, time.Now()
	for learned := k.learn(ctx); ctx.Err() == nil; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			continue
		}
		now := time.Now()
		if learned = learned || k.learn(ctx); !learned {
			continue
		}
		if k.isShown(now) && now.Sub(loaded) >= loadEvery {
			k.load(ctx)
			loaded = time.Now()
		}
		if now.Sub(saved) >= saveEvery {
			k.save(ctx)
			saved = time.Now()
		}
		if now.Sub(adopted) >= adoptEvery && k.Members()[0] == k.ID {
			if err := k.adopt(ctx, now); err != nil {
				k.Log.Warn("histories of gateways that are gone not adopted", "error", err)
			}
			adopted = now
		}
	}
	k.save(context.WithoutCancel(ctx))
}

func (k *Keeper) value(id string) largevalue.Value {
	return largevalue.Value{KV: k.KV, Key: "history-" + k.Name + "-" + id}
}

// loadOne loads a history. It returns nil if the history does not exist, cannot be read, or still has the revision
// known.
func (k *Keeper) loadOne(ctx context.Context, id string, known uint64) (a another, err error) {
	packed, revision, err := k.value(id).Load(ctx, known)
	if err != nil || packed == nil {
		return a, err
	}
	var text []byte
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(r, mostText))
	}
	h := Open("", k.Log)
	if err == nil {
		err = h.read(text)
	}
	if err != nil {
		k.Log.Warn("history cannot be read", "gateway", id, "error", err)
		return a, nil
	}
	return another{h, revision}, nil
}

// loadAll loads the histories of the other gateways, except those in known that have not changed.
func (k *Keeper) loadAll(ctx context.Context, known map[string]another) (map[string]another, error) {
	ids, _, err := k.ids(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]another{}
	for _, id := range ids {
		if id == k.ID {
			continue
		}
		a, err := k.loadOne(ctx, id, known[id].revision)
		if err != nil {
			return nil, err
		}
		if a.History == nil {
			a = known[id]
		}
		if a.History != nil {
			all[id] = a
		}
	}
	return all, nil
}

func (k *Keeper) listKey() string { return "histories-" + k.Name }

// ids returns the ids of the gateways with a stored history, and the entry that lists them.
func (k *Keeper) ids(ctx context.Context) (ids []string, e store.Entry, err error) {
	if e, err = k.KV.Get(ctx, k.listKey()); err == nil && e.Value != nil {
		_ = json.Unmarshal(e.Value, &ids) // an unreadable list is empty
	}
	return ids, e, err
}

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

// learn adopts what earlier gateways have learned about upstreams; false: the store does not answer.
func (k *Keeper) learn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all, err := k.loadAll(ctx, nil)
	k.Own.mu.Lock()
	defer k.Own.mu.Unlock()
	for _, a := range all {
		k.Own.learn(a.History)
	}
	return err == nil
}

func (k *Keeper) save(ctx context.Context) {
	text, err := k.Own.text(false)
	if text == nil && err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err == nil {
		err = k.saveText(ctx, text)
	}
	if err == nil && !k.listed { // also after the store was away: its history may have been adopted
		err = k.changeIDs(ctx, func(ids []string) []string {
			return append(slices.DeleteFunc(ids, func(id string) bool { return id == k.ID }), k.ID)
		})
	}
	if k.listed = err == nil; err != nil {
		k.Own.unsaved()
	}
	// It is logged once until it is saved again. That the store is away is known otherwise.
	away := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNotOpen) || errors.Is(err, store.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
	if err != nil && !away && !k.unsaved {
		k.Log.Warn("history not saved", "error", err)
	}
	k.unsaved = err != nil && (k.unsaved || !away)
}

// saveText stores the text of this gateway's history. All histories share a bound, each with an equal part.
func (k *Keeper) saveText(ctx context.Context, text []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("compress history: %w", err)
	}
	if packed.Len() > mostPacked/(1+len(k.Members())) {
		return fmt.Errorf("history of %d bytes: %w", packed.Len(), store.ErrTooLarge)
	}
	return k.value(k.ID).Save(ctx, packed.Bytes(), 0)
}

// isShown reports whether the histories are being viewed. If not, it drops those of the others.
func (k *Keeper) isShown(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.asked) < shownFor {
		return true
	}
	k.others, k.sum = nil, nil
	return false
}

// load loads the histories of the others for display. After an error the known ones stay.
func (k *Keeper) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	k.mu.Lock()
	known := k.others
	k.mu.Unlock()
	if all, err := k.loadAll(ctx, known); err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.others = all
	}
}

// Shown returns the history of the fleet, as of some seconds ago for the other gateways. The first reader waits a
// moment while it loads theirs.
func (k *Keeper) Shown() *History {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.asked) >= shownFor {
		ctx, cancel := context.WithTimeout(context.Background(), firstLoad)
		defer cancel()
		if all, err := k.loadAll(ctx, nil); err == nil {
			k.others, k.sum = all, nil
		}
		now = time.Now()
	}
	k.asked = now
	if k.sum == nil || now.Sub(k.summed) >= showEvery {
		members, parts := k.Members(), []Part{{History: k.Own, Name: k.ID}}
		for _, id := range slices.Sorted(maps.Keys(k.others)) {
			parts = append(parts, Part{History: k.others[id].History, Name: id, Over: !slices.Contains(members, id)})
		}
		k.sum, k.summed = Sum(now, parts...), now
	}
	return k.sum
}

// adopt adds the histories of gateways that are long gone to this one, and then deletes them. A concurrent reader
// counts each once, and so does the next gateway to adopt them if this one ends in between.
func (k *Keeper) adopt(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all, err := k.loadAll(ctx, nil)
	if err != nil {
		return err
	}
	members, gone := k.Members(), []Part{}
	for id, a := range all {
		if !slices.Contains(members, id) {
			gone = append(gone, Part{History: a.History, Name: id, Over: true})
		}
	}
	slices.SortFunc(gone, func(a, b Part) int { return a.saved.Compare(b.saved) })
	n := 0
	for n < len(gone) && (now.Sub(gone[n].saved) >= adoptAfter || n < len(gone)-mostGone && now.Sub(gone[n].saved) >= adoptSooner) {
		n++
	}
	if gone = gone[:n]; n == 0 {
		return nil
	}
	k.Own.adopt(now, gone)
	if k.save(ctx); !k.listed {
		return nil // it is tried again
	}
	for _, p := range gone {
		if err == nil {
			err = k.value(p.Name).Delete(ctx)
		}
	}
	if err != nil {
		return err
	}
	return k.changeIDs(ctx, func(ids []string) []string {
		return slices.DeleteFunc(ids, func(id string) bool {
			return slices.ContainsFunc(gone, func(p Part) bool { return p.Name == id })
		})
	})
}
