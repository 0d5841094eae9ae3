package conversation

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/turn"
)

// A reader who looks at the newest conversations does so again and again. What this runner does with them it
// notes itself; what other runners do it reads every now and then.
const (
	rereadTime = 15 * time.Second
	forgetTime = time.Minute // after the last call
)

// Recent returns the conversations of the highest ids, n at the most, the highest first, without what waits
// in them for its turn. It costs little to ask again. With an error it gives what was known before.
func (r *Runner) Recent(ctx context.Context, n int) ([]View, error) {
	r.recent.reading.Lock()
	defer r.recent.reading.Unlock()
	known, ok := r.recent.get(n)
	if ok {
		return known, nil
	}
	r.recent.begin()
	read, err := r.newest(ctx, n)
	if err != nil {
		r.recent.stale()
		return known, err
	}
	return r.recent.fill(read, n), nil
}

// newest reads the conversations of the highest ids. Only where the last record
// does not say that nothing is in progress, the log has to be read.
func (r *Runner) newest(ctx context.Context, n int) (all []View, err error) {
	for head, err := range r.Store.Conversations(ctx, "") {
		if len(all) == n {
			break
		}
		if err != nil {
			return nil, err
		}
		v, ok, err := r.viewOfHead(ctx, head)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			continue
		case head.Last.Type != created && head.Last.Type != turn.Type(turn.Sealed{}):
			if now, err := r.Get(ctx, v.ID); err == nil { // else it is gone, or its own Get returns the error
				v = now
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// recent are the newest conversations.
type recent struct {
	reading sync.Mutex // held by who reads the store

	mu    sync.Mutex
	asked time.Time       // the last call of Recent; zero: none
	read  time.Time       // when the store was read; zero: it has to be
	noted map[string]bool // what has happened to conversations while it is read; false: they were deleted
	views []View          // the highest id first
}

// get returns what is known; false: the store has to be read.
func (r *recent) get(n int) (views []View, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = time.Now()
	ok = !r.read.IsZero() && r.asked.Sub(r.read) <= rereadTime
	return slices.Clone(r.views[:min(n, len(r.views))]), ok
}

// begin is called before the store is read: what happens meanwhile is noted.
func (r *recent) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted, r.read = map[string]bool{}, time.Now()
}

// fill takes in what was read. What was noted meanwhile is newer, and what is neither is not there any more.
func (r *recent) fill(read []View, n int) []View {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = slices.DeleteFunc(r.views, func(v View) bool { return !r.noted[v.ID] })
	for _, v := range read {
		if there, noted := r.noted[v.ID]; there || !noted {
			r.put(v)
		}
	}
	r.noted, r.views = nil, r.views[:min(n, len(r.views))]
	return slices.Clone(r.views)
}

// see notes a conversation as it is now.
func (r *recent) see(l *log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.asked.IsZero():
	case time.Since(r.asked) > forgetTime && r.noted == nil:
		r.asked, r.read, r.views = time.Time{}, time.Time{}, nil
	default:
		r.put(l.view())
		if r.noted != nil {
			r.noted[l.id] = true
		}
	}
}

// put puts a conversation into its place, if it is not known as it is later.
func (r *recent) put(v View) {
	i, there := slices.BinarySearchFunc(r.views, v.ID, func(v View, id string) int { return strings.Compare(id, v.ID) })
	switch {
	case !there:
		r.views = slices.Insert(r.views, i, v)
	case r.views[i].Last <= v.Last:
		r.views[i] = v
	}
}

// drop forgets a conversation that was deleted. Another comes into its place when the store is read.
func (r *recent) drop(conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noted != nil {
		r.noted[conversation] = false
	}
	r.views = slices.DeleteFunc(r.views, func(v View) bool { return v.ID == conversation })
	r.read = time.Time{}
}

// stale has the store read at the next call.
func (r *recent) stale() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = time.Time{}
}
