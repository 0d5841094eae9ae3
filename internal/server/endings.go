package server

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
)

// endsBound is how many ends are remembered, for those who have seen the calls
// wait.
const endsBound = 4096

// end is how the waiting of a call has come to its end, as JSON.
type end struct {
	How     string `json:"how"` // "recovered", "failed", or "left" by the client, or stopped
	Retries int    `json:"retries"`
	Waited  int64  `json:"waitedMs"`
}

// endings are those of the latest calls, by their numbers, or of the latest
// turns, by their conversations.
type endings[K comparable] struct {
	by    map[K]end
	order []K // the oldest first
}

// note adds one, and forgets the oldest where there are too many.
func (e *endings[K]) note(id K, how string, retries int, waited time.Duration) {
	if e.by == nil {
		e.by = map[K]end{}
	}
	if _, known := e.by[id]; known {
		return // one whose answer breaks off has recovered first
	}
	e.by[id] = end{how, retries, waited.Milliseconds()}
	if e.order = append(e.order, id); len(e.order) > endsBound {
		delete(e.by, e.order[0])
		e.order = e.order[1:]
	}
}

// drop forgets one: what it was of waits again.
func (e *endings[K]) drop(id K) {
	if _, known := e.by[id]; known {
		delete(e.by, id)
		e.order = slices.DeleteFunc(e.order, func(k K) bool { return k == id })
	}
}

// ended gives how the waiting of a call has come to its end; false: it is not
// known, or not any more.
func (f *Feed) ended(id int64) (end, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.ends.by[id]
	return e, ok
}

// settled is ended for the latest turn of a conversation that has waited.
func (f *Feed) settled(conversation string) (end, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.turns.by[conversation]
	return e, ok
}

// WatchTurns is told of what happens to turns: it is for conversation.Config. It
// remembers how their waiting ends; their events are in their conversations.
func (f *Feed) WatchTurns(e conversation.Event) {
	how := "failed"
	switch {
	case e.Type == conversation.Recovered:
		how = "recovered"
	case e.Type == conversation.Lost && e.Stopped:
		how = "left"
	case e.Type != conversation.Lost && e.Type != conversation.Waits:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Type == conversation.Waits {
		f.turns.drop(e.Conversation)
		return
	}
	f.turns.note(e.Conversation, how, e.Retries, e.Waited)
}
