package gateway

import (
	"net/http"
	"slices"
)

// join puts a call among those who wait for the outcome; false: it has landed.
func (f *flight) join(c *call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.landed || len(f.calls) == 0 {
		return false
	}
	if f.done == nil {
		f.done = make(chan struct{})
	}
	f.calls = append(f.calls, c)
	return true
}

// inform tells a call that has just joined what it has missed. A first try that
// is merely slow holds nobody.
func (f *flight) inform(c *call) {
	f.mu.Lock()
	failed, open := f.note.Fault != nil || f.state != Trying, f.open
	f.mu.Unlock()
	switch {
	case failed:
		f.waiting.add(c, f)
		c.hold.begin()
	case open:
		c.hold.opened()
	}
}

// leave takes a call out whose client has left. The last one ends the flight.
func (f *flight) leave(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = slices.DeleteFunc(f.calls, func(other *call) bool { return other == c })
	f.waiting.remove(c)
	if len(f.calls) == 0 {
		f.cancel(errLeft)
	}
}

// quit ends a call's part in the flight. Where the lead has panicked, the others
// go on without it.
func (f *flight) quit(c *call) {
	f.leave(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.lead == c && !f.landed:
		f.heir = c
		f.touchDown(nil, nil)
	case f.heir == c && f.resp != nil:
		_ = f.resp.Body.Close() // read to its end or not at all
	}
}

// land publishes the outcome. The first client that is there takes it.
func (f *flight) land(resp *http.Response, err error) {
	if f.worthRemembering() {
		f.flights.remember(f)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) > 0 {
		f.heir = f.calls[0]
	}
	if f.heir == nil && resp != nil {
		_ = resp.Body.Close() // nobody is left to read it
	}
	f.touchDown(resp, err)
}

// touchDown lets go of the body and wakes those who have joined. mu is held.
func (f *flight) touchDown(resp *http.Response, err error) {
	f.landed, f.resp, f.err = true, resp, err
	f.body.release()
	f.flights.remove(f)
	if f.done != nil {
		close(f.done)
	}
}
