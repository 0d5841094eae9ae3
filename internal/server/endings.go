package server

import "time"

// endsBound is how many ends are remembered, for those who have seen the calls
// wait.
const endsBound = 4096

// end is how the waiting of a call has come to its end, as JSON.
type end struct {
	How     string `json:"how"` // "recovered", "failed", or "left" by the client
	Retries int    `json:"retries"`
	Waited  int64  `json:"waitedMs"`
}

// endings are those of the latest calls, by their numbers.
type endings struct {
	by    map[int64]end
	order []int64 // the oldest first
}

// note adds one, and forgets the oldest where there are too many.
func (e *endings) note(id int64, how string, retries int, waited time.Duration) {
	if e.by == nil {
		e.by = map[int64]end{}
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

// ended gives how the waiting of a call has come to its end; false: it is not
// known, or not any more.
func (f *Feed) ended(id int64) (end, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.ends.by[id]
	return e, ok
}
