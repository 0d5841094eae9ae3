package conversation

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// recoveries is the topic on which runners tell each other that an upstream
// answers again.
const recoveries = "upstreams"

// wakeInterval is how long one slice of turns that are woken is ahead of the next,
// which is twice as large.
const wakeInterval = time.Second

// parked are the turns that wait for an upstream and are held by no worker, as
// far as this runner has parked them or has found them when it began. It is only
// there to wake them early: who is not in it wakes at its own time.
type parkedTurns struct {
	mu    sync.Mutex
	turns map[string]map[string]string // upstream -> conversation -> turn
}

// add notes a turn that was parked.
func (w *parkedTurns) add(upstream, conversation, turnID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns == nil {
		w.turns = map[string]map[string]string{}
	}
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
func (h *Runner) findParked(ctx context.Context) {
	all := false
	h.waits.search()
	defer func() { h.waits.searched(all) }()
	for head, err := range h.Store.Conversations(ctx, "") {
		if err != nil {
			if ctx.Err() == nil {
				h.Log.Warn("looking for turns that wait", "error", err)
			}
			return
		}
		p, held, ok := h.waitOf(ctx, head)
		if !ok {
			continue
		}
		h.waits.found(p)
		if !held {
			h.parked.add(p.Name.Provider, head.ID, p.Turn)
		}
	}
	all = true
}

// waitOf returns the wait that a conversation's turn is in, and whether a worker
// holds it; false: in none. Only where another record was appended since it was
// parked, the log has to be read.
func (h *Runner) waitOf(ctx context.Context, head store.Head) (w Wait, held, ok bool) {
	switch last := head.Last; {
	case last.Type == parked:
		var p park
		if json.Unmarshal(last.Body, &p) != nil {
			return w, false, false
		}
		var s Settings
		_ = json.Unmarshal(head.First.Body, &s) // without it there is no title
		return p.of(head.ID, captionedSettings(s, last).Title, last.Turn, last.Time), p.Held, true
	case last.Type != released && (last.Type == created || !byOthers(last.Type)):
		return w, false, false
	}
	l, err := h.load(ctx, head.ID)
	if err != nil {
		return w, false, false // Get returns the error
	}
	defer h.cache.put(l)
	if l.wait() == nil {
		return w, false, false
	}
	return *l.wait(), l.now.held, true
}

// announceRecovery tells all runners that an upstream answers again.
func (h *Runner) announceRecovery(ctx context.Context, upstream string) {
	if err := h.Store.Publish(ctx, recoveries, []byte(upstream)); err != nil && ctx.Err() == nil {
		h.Log.Warn("telling of a recovery", "upstream", upstream, "error", err)
	}
}

// followUpstreams wakes those that wait for an upstream when it answers again, and keeps
// up with which turns wait.
func (h *Runner) followUpstreams(ctx context.Context) error {
	heard, err := h.Store.Subscribe(ctx, recoveries)
	if err != nil {
		return err
	}
	said, err := h.Store.Subscribe(ctx, waitTopic)
	if err != nil {
		return err
	}
	h.findParked(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { h.followWaits(ctx, said) })
	for news := range heard {
		all.Go(func() { h.wakeAll(ctx, string(news.Data)) })
	}
	return nil
}

// wakeAll wakes the turns that wait for an upstream, a few at first and then
// more and more, until one of them finds it down again.
func (h *Runner) wakeAll(ctx context.Context, upstream string) {
	if !h.wakeups.begin(upstream) {
		return
	}
	defer h.wakeups.end(upstream)
	for n := 1; ; n *= 2 {
		some := h.parked.some(upstream, n)
		for conversation, id := range some {
			err := h.Store.Enqueue(ctx, newJob(conversation, id, "", payload{Woken: true}))
			if err != nil && ctx.Err() == nil {
				h.Log.Warn("waking a turn", "turn", id, "error", err)
			}
		}
		if len(some) < n || retry.Sleep(ctx, wakeInterval) != nil || h.wakeups.down(upstream) {
			return
		}
	}
}

// wakeups are the upstreams whose turns are being woken.
type wakeups struct {
	mu    sync.Mutex
	under map[string]bool // upstream -> it has failed since
}

// begin notes a ramp; false: there is one already.
func (r *wakeups) begin(upstream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.under[upstream]; there {
		return false
	}
	if r.under == nil {
		r.under = map[string]bool{}
	}
	r.under[upstream] = false
	return true
}

func (r *wakeups) end(upstream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.under, upstream)
}

// failed notes that an upstream is down again.
func (r *wakeups) failed(upstream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.under[upstream]; there {
		r.under[upstream] = true
	}
}

// down reports whether an upstream has failed since its ramp began.
func (r *wakeups) down(upstream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.under[upstream]
}
