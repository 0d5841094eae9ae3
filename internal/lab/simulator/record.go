package simulator

import (
	"net/http"
	"slices"
	"time"
)

// What a provider remembers is bounded: a simulator may run for weeks.
const (
	maxKept      = 10_000  // requests
	maxKeptBody  = 1 << 20 // bytes of one body
	maxKeptBytes = 1 << 28 // bytes of all bodies
)

// Request is what has arrived at a provider. A connection that was refused
// before it could carry a request is one with an Outcome and nothing else.
type Request struct {
	At      time.Duration // since the provider's start
	Method  string
	Path    string
	Header  http.Header
	Body    []byte // the first MiB
	Outcome string // the reply in a short word: "ok", "529", "cut:3"
}

// Requests returns what has arrived, in order. It keeps the last 10 000 and not
// more than 256 MiB of bodies. Headers and bodies are shared: leave them as
// they are.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log.kept)
}

// record is the memory of a provider.
type record struct {
	kept  []Request
	bytes int
}

// add keeps a request and forgets the oldest ones that no longer fit.
func (r *record) add(q Request) {
	r.kept = append(r.kept, q)
	r.bytes += len(q.Body)
	for len(r.kept) > maxKept || r.bytes > maxKeptBytes {
		r.bytes -= len(r.kept[0].Body)
		r.kept[0] = Request{} // the array behind the slice must not hold on to it
		r.kept = r.kept[1:]
	}
}
