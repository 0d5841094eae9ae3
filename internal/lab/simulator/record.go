package simulator

import (
	"net/http"
	"slices"
	"time"
)

// Bounds of the record: a simulator may run for weeks.
const (
	maxKept      = 10_000  // requests
	maxKeptBody  = 1 << 20 // bytes of one body
	maxKeptBytes = 1 << 28 // bytes of all bodies
)

// Request is a request that a provider received. A refused connection is one with only its time and Outcome.
type Request struct {
	At      time.Duration // since the provider's start
	Method  string
	Path    string
	Header  http.Header
	Body    []byte  // the first MiB
	Images  []Image // in all of it
	Outcome string  // the reply in short: "ok", "529", "cut:3"
}

// Requests returns the received requests in order: the last 10 000, with at most
// 256 MiB of bodies. Headers and bodies are shared and must not be changed.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log.kept)
}

// record has the received requests.
type record struct {
	kept  []Request
	bytes int
}

// add appends a request and drops the oldest beyond the bounds.
func (r *record) add(q Request) {
	r.kept = append(r.kept, q)
	r.bytes += len(q.Body)
	for len(r.kept) > maxKept || r.bytes > maxKeptBytes {
		r.bytes -= len(r.kept[0].Body)
		r.kept[0] = Request{} // release its memory
		r.kept = r.kept[1:]
	}
}
