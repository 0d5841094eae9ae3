package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/transport"
)

// keptAnswer is an answer that is kept while it arrives. Once its client has left, the same request is given it.
type keptAnswer struct {
	entry
	answerHead
	record  *spool.Record
	most    int64    // the bound in bytes
	inFleet answerID // for other gateways

	mu      sync.Mutex
	follows *sharedRequest  // of which it is; nil: it has ended
	client  context.Context // of the client that it is sent to; nil: it has ended
	left    bool            // by that client
	size    int64
	end     error         // io.EOF: it is whole; nil: it goes on
	changed chan struct{} // closed when there is more, or it has ended; nil: no reader waits
	readers int
	dropped bool
	state   heldState // of its request, as the other gateways are told; "": they are not
}

// answerHead is what comes before an answer.
type answerHead struct {
	id      int64 // of the request
	at      destination
	header  http.Header
	form    api.Form
	watched bool // it is a stream
}

// errNotKept ends an answer that is not kept to its end.
var errNotKept = &fault.Error{
	Kind: fault.Truncated, Status: http.StatusOK, Rule: "gateway/kept", Err: errLocal,
	Message: "the answer, which was begun for an earlier request, broke off",
}

// add keeps a part. It reports whether the answer is still of use: it is not beyond its bound, or without room.
func (k *keptAnswer) add(p []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.end != nil {
		return false
	}
	if k.size += int64(len(p)); k.size > k.most || k.record.Append(p) != nil {
		k.endWith(errNotKept)
		return false
	}
	k.wake()
	return true
}

// finish ends the answer: whole, or broken off.
func (k *keptAnswer) finish(whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.end != nil:
	case whole:
		k.endWith(io.EOF)
	default:
		k.endWith(errNotKept)
	}
}

// endWith ends the answer. mu is held.
func (k *keptAnswer) endWith(err error) {
	k.left = k.isLeft()
	k.end, k.follows, k.client = err, nil, nil
	k.wake()
}

// isLeft reports whether the client that it is sent to has left. mu is held.
func (k *keptAnswer) isLeft() bool { return k.left || k.client != nil && k.client.Err() != nil }

// wake wakes the readers. mu is held.
func (k *keptAnswer) wake() {
	if k.changed != nil {
		close(k.changed)
		k.changed = nil
	}
}

// keptReader is the body of an answer that is given again.
type keptReader struct {
	*keptAnswer
	ctx context.Context // the client's
	at  int
}

// Read implements io.Reader. It waits while there is nothing.
func (r *keptReader) Read(p []byte) (int, error) {
	for {
		r.mu.Lock()
		n, err := r.record.ReadAt(p, r.at)
		end, more := r.end, r.changed
		if n == 0 && end == nil && more == nil {
			more = make(chan struct{})
			r.changed = more
		}
		r.mu.Unlock()
		switch {
		case n > 0:
			r.at += n
			return n, nil
		case err != nil:
			return 0, errNotKept
		case end != nil:
			return 0, end
		}
		select {
		case <-more:
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
}

// Close implements io.Closer.
func (r *keptReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers--
	r.freeUnread()
	return nil
}

// keptStream is that of a stream.
type keptStream struct{ keptReader }

// Failure implements [transport.Watched]: an answer that ends in an error is not kept.
func (r *keptStream) Failure() *fault.Error { return nil }

// Whole implements [transport.Watched].
func (r *keptStream) Whole() bool { return true }

// Form implements [transport.Watched].
func (r *keptStream) Form() api.Form { return r.form }

// response returns the answer as a response.
func (k *keptAnswer) response(ctx context.Context) *http.Response {
	r := keptReader{keptAnswer: k, ctx: ctx}
	resp := &http.Response{StatusCode: http.StatusOK, Header: k.header.Clone(), Body: &r}
	if k.watched {
		resp.Body = &keptStream{r}
	}
	return resp
}

func (k *keptAnswer) hasEnded() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.end != nil
}

// drop notes that the answer is forgotten.
func (k *keptAnswer) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropped = true
	k.freeUnread()
}

// freeUnread frees an answer that is dropped and that is read to no client. mu is held.
func (k *keptAnswer) freeUnread() {
	if k.dropped && k.readers == 0 {
		k.record.Release()
	}
}

// leavingGrace is how long a request waits to learn that the client of the same one has left. A client that comes
// back at once may be faster than the end of its first connection.
const leavingGrace = 100 * time.Millisecond

// hasLeft reports whether the client of the answer has left, or says so with the call.
func (k *keptAnswer) hasLeft(c *call) bool {
	k.mu.Lock()
	client, left := k.client, k.left
	k.mu.Unlock()
	if client == nil || left || c.isResend() {
		return true
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), leavingGrace)
	defer cancel()
	select {
	case <-client.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// beginReading adds a reader, which has to close its response; false: the answer is broken, or another client has it.
func (k *keptAnswer) beginReading() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dropped || k.end != nil && k.end != io.EOF {
		return false
	}
	k.readers++
	return true
}

// follow adds a client to the request that has this answer, if it still runs, and returns a function that removes it.
func (k *keptAnswer) follow(c *call) (end func()) {
	k.mu.Lock()
	s := k.follows
	k.mu.Unlock()
	if s == nil {
		return func() {}
	}
	s.takeBack(c)
	return func() {
		if k.hasEnded() {
			s.forget(c)
		} else {
			s.leave(c)
		}
	}
}

// isWhole reports whether the body, which has been read, is that of a whole answer.
func (c *call) isWhole(body io.Reader) bool {
	if w, ok := body.(transport.Watched); ok {
		return w.Whole()
	}
	d, part := c.dialect.NewRequestDigest(c.gateway.seed), make([]byte, largeBuffer)
	for at := 0; ; {
		n, err := c.kept.record.ReadAt(part, at)
		if n == 0 || err != nil || d.Scan(part[:n]) {
			break
		}
		at += n
	}
	_, whole := d.Sum()
	return whole
}
