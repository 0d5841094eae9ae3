package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

// Wait is a turn that waits for its provider, or tries again after it has.
type Wait struct {
	Conversation string
	Title        string // of the conversation; ""
	Turn         string
	Trying       bool      // again: the rest is about the wait before
	Paused       bool      // with its conversation: no time runs
	Held         bool      // at a gateway, which holds the turn's request: no record tells of the wait
	Began        time.Time // the first try
	turn.Retry             // the model and the wait
}

// Waits returns the oldest turns that wait on the runner's store, n at most, and the number of all. They may
// be turns of other runners. It costs little to call again, however many wait.
func (r *Runner) Waits(n int) (oldest []Wait, all int) { return r.waits.list(n) }

// waits are the turns that wait, as far as this runner has read in their logs or
// other runners have announced.
type waits struct {
	mu    sync.Mutex
	turns map[string]*packedWait // by conversation, which has one turn in progress at most
	at    map[string]int         // how many there are, by provider
	news  map[string]bool        // of which conversations there is news since a search of the store has begun; nil: there is none

	listed []Wait // nil: it is to be made anew
	asked  int    // for how many
}

// packedWait is a Wait in a form of which there may be very many: most wait for the same reason.
type packedWait struct {
	turn, title          string
	cause                unique.Handle[waitCause]
	trying, held, paused bool
	hinted, window       bool // see policy.Verdict
	tries, limit         int
	began, due, deadline int64 // milliseconds; 0: none
	opens                int64 // likewise: a usage window
	slept, wait, waited  time.Duration
}

// waitCause is what a turn waits for.
type waitCause struct {
	name                     llm.Name
	kind                     fault.Kind
	status                   int
	code, message, requestID string
}

func (w *Wait) pack() *packedWait {
	f := w.Fault
	p := &packedWait{
		turn: w.Turn, title: w.Title, trying: w.Trying, held: w.Held, paused: w.Paused, hinted: w.Verdict.Hinted, window: w.Verdict.Window,
		cause: unique.Make(waitCause{w.Name, f.Kind, f.Status, f.Code, f.Message, f.RequestID}),
		tries: w.Run.Tries, limit: w.Limit, slept: w.Run.Slept, wait: w.Verdict.Wait, waited: w.Waited,
		began: milliseconds(w.Began), due: milliseconds(w.Due), deadline: milliseconds(w.Deadline),
	}
	if f.Window {
		p.opens = milliseconds(f.ResetAt)
	}
	return p
}

func (p *packedWait) unpack(conversation string) Wait {
	c := p.cause.Value()
	return Wait{
		Conversation: conversation, Title: p.title, Turn: p.turn, Trying: p.trying, Held: p.held, Paused: p.paused, Began: instant(p.began),
		Retry: turn.Retry{Name: c.name, Wait: policy.Wait{
			Run: policy.Run{Tries: p.tries, Slept: p.slept, Started: instant(p.began)},
			Fault: &fault.Error{
				Kind: c.kind, Status: c.status, Code: c.code, Message: c.message, RequestID: c.requestID,
				Window: p.opens != 0, ResetAt: instant(p.opens),
			},
			Verdict: policy.Verdict{Wait: p.wait, Hinted: p.hinted, Window: p.window},
			Due:     instant(p.due), Limit: p.limit, Deadline: instant(p.deadline), Waited: p.waited,
		}},
	}
}

// milliseconds and instant change between the forms of a time; none is 0.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instant(ms int64) (t time.Time) {
	if ms == 0 {
		return t
	}
	return time.UnixMilli(ms).UTC()
}

// wait returns the wait that a conversation's turn is in; nil: in none.
func (l *log) wait() *Wait {
	if l.now.waits == nil {
		return nil
	}
	w := l.now.waits.of(l.id, l.settings.Title, l.now.id, l.now.since)
	w.Paused = l.isPaused()
	return &w
}

// shownWait is wait, or the wait of the turn for another worker after one has failed.
func (l *log) shownWait() *Wait {
	if c := l.now.crash; c != nil && l.now.waits == nil {
		w := (&park{Retry: c.retry(time.Now())}).of(l.id, l.settings.Title, l.now.id, l.now.began)
		w.Paused = l.isPaused()
		return &w
	}
	return l.wait()
}

// of returns a wait that was stored at a time as one of a turn.
func (p *park) of(conversation, title, turnID string, at time.Time) Wait {
	w := Wait{Conversation: conversation, Title: title, Turn: turnID, Began: p.Run.Started, Retry: p.Retry}
	if w.Began.IsZero() {
		w.Began = at
	}
	return w
}

// put notes a turn that waits.
func (t *waits) put(w Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(w)
	if t.news != nil {
		t.news[w.Conversation] = true
	}
}

// found is put for a wait read in the store: an announced one is newer.
func (t *waits) found(w Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.news[w.Conversation] {
		t.set(w)
		t.news[w.Conversation] = true
	}
}

func (t *waits) set(w Wait) {
	t.remove(w.Conversation)
	t.turns[w.Conversation] = w.pack()
	t.at[w.Name.Provider]++
	t.listed = nil
}

// remove takes the turn of a conversation away; nil: there was none.
func (t *waits) remove(conversation string) *packedWait {
	p := t.turns[conversation]
	if p == nil {
		return nil
	}
	delete(t.turns, conversation)
	provider := p.cause.Value().name.Provider
	if t.at[provider]--; t.at[provider] == 0 {
		delete(t.at, provider)
	}
	t.listed = nil
	return p
}

// drop forgets a turn of a conversation; turn "": whichever it is; false: it was not there.
func (t *waits) drop(conversation, turn string) (w Wait, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if there := t.turns[conversation]; turn != "" && there != nil && there.turn != turn {
		return w, false // the next turn waits already
	}
	if t.news != nil {
		t.news[conversation] = true
	}
	last := t.remove(conversation)
	if last == nil {
		return w, false
	}
	return last.unpack(conversation), true
}

// try notes that a turn tries again; false: it is not there.
func (t *waits) try(conversation string) (w Wait, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := t.turns[conversation]
	if there == nil {
		return w, false
	}
	there.trying, t.listed = true, nil
	return there.unpack(conversation), true
}

// in returns the wait of a conversation's turn; false: it is in none.
func (t *waits) in(conversation string) (w Wait, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := t.turns[conversation]
	if there == nil {
		return w, false
	}
	return there.unpack(conversation), true
}

// search begins a search of the store.
func (t *waits) search() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.news = map[string]bool{}
}

// searched ends one. Whatever waits is in the store, so that what was not found
// there waits no more; whether it tries again, its runner says.
func (t *waits) searched(all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for conversation, p := range t.turns {
		if all && !t.news[conversation] && !p.trying {
			t.remove(conversation)
		}
	}
	t.news = nil
}

// list returns the oldest of them, and how many there are.
func (t *waits) list(n int) ([]Wait, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listed == nil || t.asked != n {
		t.listed, t.asked = t.oldest(n), n
	}
	return t.listed, len(t.turns)
}

func (t *waits) oldest(n int) []Wait {
	type aged struct {
		began int64
		id    string
	}
	older := func(a, b aged) int { return cmp.Or(cmp.Compare(a.began, b.began), strings.Compare(a.id, b.id)) }
	first := make([]aged, 0, min(n, len(t.turns))+1)
	for id, p := range t.turns {
		a := aged{p.began, id}
		if len(first) == n && older(first[n-1], a) < 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(first, a, older)
		if first = slices.Insert(first, i, a); len(first) > n {
			first = first[:n]
		}
	}
	list := make([]Wait, len(first))
	for i, a := range first {
		list[i] = t.turns[a.id].unpack(a.id)
	}
	return list
}

// counts returns how many turns wait, by provider.
func (t *waits) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.at)
}

// of lists the turns that wait for a provider, in no order.
func (t *waits) of(provider string) (all []Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.turns {
		if p.cause.Value().name.Provider == provider {
			all = append(all, p.unpack(id))
		}
	}
	return all
}

// waitTopic is where runners tell each other which turns wait.
const waitTopic = "waits"

// waitNews tells other runners of a turn: that it waits, or, without Park, that it does not.
type waitNews struct {
	Runner       string
	Conversation string
	Title        string    `json:",omitzero"`
	Turn         string    `json:",omitzero"`
	Trying       bool      `json:",omitzero"`
	Paused       bool      `json:",omitzero"`
	Held         bool      `json:",omitzero"`
	Began        time.Time `json:",omitzero"`
	Park         *park     `json:",omitzero"`
}

// announce tells other runners of a turn; nil: it does not wait. A runner that
// misses it shows an old state until the next news of that turn.
func (r *Runner) announce(ctx context.Context, conversation string, w *Wait) {
	n := waitNews{Runner: r.id, Conversation: conversation}
	if w != nil {
		n.Title, n.Turn, n.Trying, n.Paused, n.Held, n.Began, n.Park = w.Title, w.Turn, w.Trying, w.Paused, w.Held, w.Began, &park{Retry: w.Retry}
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = r.Store.Publish(context.WithoutCancel(ctx), waitTopic, text)
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("wait not announced to other runners", "conversation", conversation, "error", err)
	}
}

// noteWait notes that the turn of a conversation waits, as its log says.
func (r *Runner) noteWait(ctx context.Context, w Wait) {
	r.waits.put(w)
	r.announce(ctx, w.Conversation, &w)
}

// dropWait notes that the turn of a conversation does not wait any more; turn "": whichever it is. It
// returns the wait that the turn was in; false: in none.
func (r *Runner) dropWait(ctx context.Context, conversation, turn string) (w Wait, ok bool) {
	if w, ok = r.waits.drop(conversation, turn); ok {
		r.announce(ctx, conversation, nil)
	}
	return w, ok
}

// followWaits takes in the news of other runners, until ctx ends.
func (r *Runner) followWaits(ctx context.Context, messages <-chan store.Message) {
	for m := range messages {
		if m.Gap {
			r.findParked(ctx)
		}
		var n waitNews
		switch {
		case json.Unmarshal(m.Data, &n) != nil || n.Runner == r.id:
		case n.Park != nil:
			r.waits.put(Wait{n.Conversation, n.Title, n.Turn, n.Trying, n.Paused, n.Held, n.Began, n.Park.Retry})
		default:
			r.waits.drop(n.Conversation, "")
		}
	}
}
