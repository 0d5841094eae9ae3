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

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/store"
)

// Pending is a turn that waits for its provider, or tries again after it has.
type Pending struct {
	Conversation string
	Title        string // of the conversation; ""
	Turn         string
	Trying       bool // again, and the rest is about the wait before
	Name         llm.Name
	Kind         string // of the fault, as fault.Kind has it
	Code         string
	Message      string // the provider's words
	Retries      int    // made so far
	Limit        int    // how many there may be; policy.Unlimited: no limit
	Began        time.Time
	Due          time.Time     // the next try
	Deadline     time.Time     // the latest end of waiting; zero: no budget bounds it
	Slept        time.Duration // scheduled waiting, with all of the wait that ends at Due
}

// Pending lists the turns that wait on the host's store, whoever has parked
// them, the oldest first and n at the most, and counts all. It costs little to
// ask again, however many wait.
func (h *Runner) Pending(n int) (oldest []Pending, all int) { return h.pendings.list(n) }

// pendings are the turns that wait. The log of each says so: this is what hosts
// have seen there, and told each other.
type pendings struct {
	mu    sync.Mutex
	turns map[string]*pending // by conversation, which has one turn under way at the most
	at    map[string]int      // how many there are, by provider
	news  map[string]bool     // of which conversations there is news since a search of the store has begun; nil: there is none

	listed []Pending // nil: it is to be made anew
	asked  int       // for how many
}

// pending is a Pending in a form of which there may be very many: most wait for
// the same reason.
type pending struct {
	turn, title          string
	why                  unique.Handle[why]
	trying               bool
	retries, limit       int
	began, due, deadline int64 // milliseconds; 0: none
	slept                time.Duration
}

// why is what a turn waits for.
type why struct {
	name                llm.Name
	kind, code, message string
}

// pack and unpack change between the forms.
func (p *Pending) pack() *pending {
	return &pending{
		turn: p.Turn, title: p.Title, why: unique.Make(why{p.Name, p.Kind, p.Code, p.Message}), trying: p.Trying,
		retries: p.Retries, limit: p.Limit,
		began: milliseconds(p.Began), due: milliseconds(p.Due), deadline: milliseconds(p.Deadline), slept: p.Slept,
	}
}

func (p *pending) unpack(conversation string) Pending {
	w := p.why.Value()
	return Pending{
		Conversation: conversation, Title: p.title, Turn: p.turn, Trying: p.trying,
		Name: w.name, Kind: w.kind, Code: w.code, Message: w.message, Retries: p.retries, Limit: p.limit,
		Began: instant(p.began), Due: instant(p.due), Deadline: instant(p.deadline), Slept: p.slept,
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

// pending gives the wait that a conversation's turn is in; false: in none.
func (l *log) pending() (p Pending, ok bool) {
	w := l.now.waits
	if w == nil {
		return p, false
	}
	return w.pending(l.id, l.settings.Title, l.now.id, l.now.since), true
}

// pending gives a parking that was noted at an instant as a turn that waits.
func (w *park) pending(conversation, title, turnID string, at time.Time) Pending {
	p := Pending{
		Conversation: conversation, Title: title, Turn: turnID, Name: w.Name,
		Kind: w.Fault.Kind.String(), Code: w.Fault.ShortCode(), Message: w.Fault.Redacted(),
		Retries: max(0, w.Run.Tries-1), Limit: w.Limit, Began: w.Run.Started, Due: w.Due, Deadline: w.Deadline, Slept: w.Run.Slept,
	}
	if p.Began.IsZero() {
		p.Began = at
	}
	return p
}

// put notes a turn that waits.
func (t *pendings) put(p Pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(p)
	if t.news != nil {
		t.news[p.Conversation] = true
	}
}

// found is put for what was read in the store: news beats it.
func (t *pendings) found(p Pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.news[p.Conversation] {
		t.set(p)
		t.news[p.Conversation] = true
	}
}

func (t *pendings) set(p Pending) {
	t.remove(p.Conversation)
	if t.turns == nil {
		t.turns, t.at = map[string]*pending{}, map[string]int{}
	}
	t.turns[p.Conversation] = p.pack()
	t.at[p.Name.Provider]++
	t.listed = nil
}

// remove takes the turn of a conversation away; nil: there was none.
func (t *pendings) remove(conversation string) *pending {
	p := t.turns[conversation]
	if p == nil {
		return nil
	}
	delete(t.turns, conversation)
	provider := p.why.Value().name.Provider
	if t.at[provider]--; t.at[provider] == 0 {
		delete(t.at, provider)
	}
	t.listed = nil
	return p
}

// drop forgets the turn of a conversation; false: it was not there.
func (t *pendings) drop(conversation string) (p Pending, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.news != nil {
		t.news[conversation] = true
	}
	last := t.remove(conversation)
	if last == nil {
		return p, false
	}
	return last.unpack(conversation), true
}

// try notes that a turn tries again; false: it is not there.
func (t *pendings) try(conversation string) (p Pending, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := t.turns[conversation]
	if there == nil {
		return p, false
	}
	there.trying, t.listed = true, nil
	return there.unpack(conversation), true
}

// search begins a search of the store.
func (t *pendings) search() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.news = map[string]bool{}
}

// searched ends one. Whatever waits is in the store, so that what was not found
// there waits no more; whether it tries again, its host says.
func (t *pendings) searched(all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for conversation, p := range t.turns {
		if all && !t.news[conversation] && !p.trying {
			t.remove(conversation)
		}
	}
	t.news = nil
}

// list gives the oldest of them, and how many there are.
func (t *pendings) list(n int) ([]Pending, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listed == nil || t.asked != n {
		t.listed, t.asked = t.oldest(n), n
	}
	return t.listed, len(t.turns)
}

func (t *pendings) oldest(n int) []Pending {
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
	list := make([]Pending, len(first))
	for i, a := range first {
		list[i] = t.turns[a.id].unpack(a.id)
	}
	return list
}

// counts gives how many turns wait, by provider.
func (t *pendings) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := maps.Clone(t.at)
	if counts == nil {
		counts = map[string]int{}
	}
	return counts
}

// of lists the turns that wait for a provider, in no order.
func (t *pendings) of(provider string) (all []Pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.turns {
		if p.why.Value().name.Provider == provider {
			all = append(all, p.unpack(id))
		}
	}
	return all
}

// waits is the topic on which hosts tell each other which turns wait.
const waits = "waits"

// word is what a host says of a turn: that it waits, or, without Pending, that
// it does not.
type word struct {
	Host         string
	Conversation string
	Pending      *Pending `json:",omitzero"`
}

// say tells other hosts of a turn. One that is not heard shows something old
// until the next word of that turn.
func (h *Runner) say(ctx context.Context, conversation string, p *Pending) {
	text, err := json.Marshal(word{h.id, conversation, p})
	if err == nil {
		err = h.Store.Publish(context.WithoutCancel(ctx), waits, text)
	}
	if err != nil && ctx.Err() == nil {
		h.Log.Warn("telling which turns wait", "conversation", conversation, "error", err)
	}
}

// pend notes that the turn of a conversation waits, as its log says.
func (h *Runner) pend(ctx context.Context, p Pending) {
	h.pendings.put(p)
	h.say(ctx, p.Conversation, &p)
}

// retrying notes that a turn that has waited tries again.
func (h *Runner) retrying(ctx context.Context, conversation string) {
	if p, ok := h.pendings.try(conversation); ok {
		h.say(ctx, conversation, &p)
	}
}

// over notes that the turn of a conversation does not wait any more. It gives
// the wait that it was in; false: in none.
func (h *Runner) over(ctx context.Context, conversation string) (p Pending, ok bool) {
	if p, ok = h.pendings.drop(conversation); ok {
		h.say(ctx, conversation, nil)
	}
	return p, ok
}

// overhear keeps up with what other hosts say, until ctx ends.
func (h *Runner) overhear(ctx context.Context, said <-chan store.Message) {
	for news := range said {
		if news.Gap {
			h.find(ctx)
		}
		var w word
		switch {
		case json.Unmarshal(news.Data, &w) != nil || w.Host == h.id:
		case w.Pending != nil:
			h.pendings.put(*w.Pending)
		default:
			h.pendings.drop(w.Conversation)
		}
	}
}
