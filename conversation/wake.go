package conversation

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/ridethrough/ridethrough/store"
)

// recoveries is the topic on which runners announce that an upstream answers again.
const recoveries = "upstreams"

// parkedTurns are the turns that wait for an upstream without a worker, as far as this runner has parked them
// or found them when it began. It serves only to wake them early: any other turn resumes when it is due.
type parkedTurns struct {
	mu    sync.Mutex
	turns map[string]map[string]string // upstream -> conversation -> turn
}

// add notes a turn that was parked.
func (w *parkedTurns) add(upstream, conversation, turnID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns[upstream] == nil {
		w.turns[upstream] = map[string]string{}
	}
	w.turns[upstream][conversation] = turnID
}

// drop forgets the turn of a conversation, which a worker has taken up.
func (w *parkedTurns) drop(conversation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for upstream, turns := range w.turns {
		if delete(turns, conversation); len(turns) == 0 {
			delete(w.turns, upstream)
		}
	}
}

// any reports whether turns wait for an upstream.
func (w *parkedTurns) any(upstream string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.turns[upstream]) > 0
}

// some takes out up to n of the turns that wait for an upstream.
func (w *parkedTurns) some(upstream string, n int) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[string]string{}
	for conversation, id := range w.turns[upstream] {
		if len(taken) == n {
			break
		}
		taken[conversation] = id
		delete(w.turns[upstream], conversation)
	}
	return taken
}

// findParked notes the turns that were parked before this runner was there.
func (r *Runner) findParked(ctx context.Context) {
	all := false
	r.waits.search()
	defer func() { r.waits.searched(all) }()
	for head, err := range r.Store.Conversations(ctx, "") {
		if err != nil {
			if ctx.Err() == nil {
				r.Log.Warn("search for waiting turns failed", "error", err)
			}
			return
		}
		w, held, ok := r.waitOf(ctx, head)
		if !ok {
			continue
		}
		r.waits.found(w)
		if !held {
			r.parked.add(w.Name.Provider, head.ID, w.Turn)
		}
	}
	all = true
}

// waitOf returns the wait that a conversation's turn is in, and whether a worker holds it; false: in none.
// The log is read only if another record has been appended since the turn was parked.
func (r *Runner) waitOf(ctx context.Context, head store.Head) (w Wait, held, ok bool) {
	switch last := head.Last; {
	case last.Type == parked:
		var p park
		if json.Unmarshal(last.Body, &p) != nil {
			return w, false, false
		}
		var s Settings
		_ = json.Unmarshal(head.First.Body, &s) // without it there is no title
		s, c := r.headline(ctx, s, head)
		w = p.of(head.ID, s.Title, last.Turn, last.Time)
		w.Paused = !c.Paused.IsZero()
		return w, p.Held, true
	case last.Type != released && (last.Type == created || !aside(last.Type)):
		return w, false, false
	}
	l, err := r.load(ctx, head.ID)
	if err != nil {
		return w, false, false // Get returns the error
	}
	defer r.cache.put(l)
	if l.wait() == nil {
		return w, false, false
	}
	return *l.wait(), l.now.held, true
}

// announceRecovery announces to all runners that an upstream answers again.
func (r *Runner) announceRecovery(ctx context.Context, upstream string) {
	if err := r.Store.Publish(ctx, recoveries, []byte(upstream)); err != nil && ctx.Err() == nil {
		r.Log.Warn("recovery not announced to other runners", "upstream", upstream, "error", err)
	}
}

// recoveredBound is how many upstreams may have recovered that the runner has not looked at.
const recoveredBound = 64

// Recovered wakes the turns that wait for a provider, as another caller of its breaker was answered after a fault. It
// does not block.
func (r *Runner) Recovered(provider string) {
	if !r.parked.any(provider) {
		return
	}
	select {
	case r.recovered <- provider:
	default: // the turns resume when they are due
	}
}

// followUpstreams wakes the turns that wait for an upstream when it answers again, and
// keeps the list of waiting turns up to date.
func (r *Runner) followUpstreams(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard, err := r.Store.Subscribe(ctx, recoveries)
	if err != nil {
		return err
	}
	said, err := r.Store.Subscribe(ctx, waitTopic)
	if err != nil {
		return err
	}
	r.findParked(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { r.followWaits(ctx, said) })
	for {
		select {
		case news, open := <-heard:
			if !open {
				return nil
			}
			all.Go(func() { r.wakeAll(ctx, string(news.Data)) })
		case upstream := <-r.recovered:
			all.Go(func() { r.wakeAll(ctx, upstream) })
		}
	}
}

// wakeAll wakes the parked turns that wait for an upstream, in a slow start.
func (r *Runner) wakeAll(ctx context.Context, upstream string) {
	if !r.parked.any(upstream) {
		return
	}
	r.Breakers.Of(upstream).SlowStart(ctx, func(n int) int {
		turns := r.parked.some(upstream, n)
		for conversation, id := range turns {
			err := r.enqueueAccepted(ctx, newJob(&log{id: conversation}, id, payload{Woken: true}))
			if err != nil && ctx.Err() == nil {
				r.Log.Warn("parked turn not woken", "turn", id, "error", err)
			}
		}
		return len(turns)
	})
}
