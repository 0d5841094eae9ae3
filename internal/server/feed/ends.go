package feed

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/turn"
)

// endsBound is how many ends of waits are kept.
const endsBound = 4096

// End is how a wait ended.
type End struct {
	How     string // "recovered", "failed", or "left": the client left or stopped it
	Retries int
	Waited  time.Duration
}

// ends are the ends of the latest waits.
type ends[K comparable] struct {
	byKey map[K]End
	order []K // the oldest first
}

// add keeps an end, and evicts the oldest where there are too many.
func (e *ends[K]) add(key K, how string, retries int, waited time.Duration) {
	if e.byKey == nil {
		e.byKey = map[K]End{}
	}
	if _, known := e.byKey[key]; known {
		return // a call whose answer breaks off has recovered first
	}
	e.byKey[key] = End{how, retries, waited}
	if e.order = append(e.order, key); len(e.order) > endsBound {
		delete(e.byKey, e.order[0])
		e.order = e.order[1:]
	}
}

// drop removes an end: there is another wait with that key.
func (e *ends[K]) drop(key K) {
	if _, known := e.byKey[key]; known {
		delete(e.byKey, key)
		e.order = slices.DeleteFunc(e.order, func(k K) bool { return k == key })
	}
}

// CallEnd returns how the wait of a call ended; false: it is not known, or not any more.
func (f *Feed) CallEnd(id int64) (End, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.callEnds.byKey[id]
	return e, ok
}

// TurnEnd returns how the latest wait in a conversation ended; false: it is not known, or not any more.
func (f *Feed) TurnEnd(conversation string) (End, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.turnEnds.byKey[conversation]
	return e, ok
}

// WatchTurn keeps how the waits of turns end. It publishes nothing. waited, with turn.Sealed: the turn waited for its
// provider, which has not answered since.
func (f *Feed) WatchTurn(e gateway.Event, waited bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch end := e.Event.(type) {
	case turn.Retry:
		f.turnEnds.drop(e.Call.Session)
	case turn.Recovered:
		f.turnEnds.add(e.Call.Session, "recovered", end.Retries, end.Waited)
	case turn.Sealed:
		if !waited {
			return
		}
		how := map[turn.Status]string{turn.Done: "recovered", turn.Failed: "failed", turn.Aborted: "left"}[end.Status]
		f.turnEnds.add(e.Call.Session, how, end.RetryCount, end.TotalRetryDelay)
	}
}
