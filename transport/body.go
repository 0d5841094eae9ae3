package transport

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Bounds on what is kept of a body.
const (
	maxErrorBody   = 64 << 10         // of an error's body, to name the fault
	maxAhead       = 1 << 20          // of an answer before its first content, or in one frame
	errorBodyLimit = 10 * time.Second // for reading the body of an error
)

// ahead is a body of which more has been read than returned.
type ahead struct {
	src    io.ReadCloser
	buf    []byte
	pooled *[firstBuf]byte // the array of buf; nil: buf is grown, wide or nil
	wide   *[wideBuf]byte  // likewise; nil: it is not
	got    int             // bytes of the latest read
	at     int             // buf[at:] is still to be returned
	err    error           // how src has ended; nil: it has not
	ending api.Ending      // of the answer, once that has been read

	closed   atomic.Bool // by the reader
	released atomic.Bool // the source is closed
}

// firstBuf is the size of a body's first buffer: most answers that are not
// streamed, and most streams up to their first content, need no other.
const firstBuf = 4 << 10

// wideBuf is the size of the buffer of a stream that comes in large parts, so that fewer writes forward them.
const wideBuf = 16 << 10

// buffers holds first buffers, and wideBuffers wide ones. A buffer goes back when all of it has been read,
// never when the body is closed, which another goroutine may do.
var (
	buffers     = sync.Pool{New: func() any { return new([firstBuf]byte) }}
	wideBuffers = sync.Pool{New: func() any { return new([wideBuf]byte) }}
)

// Ending returns what the answer states at its end, once that has been read.
func (a *ahead) Ending() api.Ending { return a.ending }

// fill reads once from the source, within the bound on the bytes kept.
func (a *ahead) fill(bound int) {
	switch {
	case a.buf == nil:
		a.pooled = buffers.Get().(*[firstBuf]byte)
		a.buf = a.pooled[:0]
	case len(a.buf) == cap(a.buf):
		grown := make([]byte, len(a.buf), min(bound, 4*cap(a.buf)))
		copy(grown, a.buf)
		a.drop()
		a.buf = grown
	}
	n, err := a.src.Read(a.buf[len(a.buf):cap(a.buf)])
	a.buf = a.buf[:len(a.buf)+n]
	a.got, a.err = n, err
}

// fit changes to a wide buffer after a large read, and back to a first one after a small one: many streams wait for
// their next part.
func (a *ahead) fit() {
	large := a.got >= firstBuf/2
	switch {
	case large && a.pooled != nil:
		wide := wideBuffers.Get().(*[wideBuf]byte)
		n := copy(wide[:], a.buf)
		a.drop()
		a.buf, a.wide = wide[:n], wide
	case !large && a.wide != nil && len(a.buf) < firstBuf:
		first := buffers.Get().(*[firstBuf]byte)
		n := copy(first[:], a.buf)
		a.drop()
		a.buf, a.pooled = first[:n], first
	}
}

// drop releases the buffer.
func (a *ahead) drop() {
	if a.pooled != nil {
		buffers.Put(a.pooled)
	}
	if a.wide != nil {
		wideBuffers.Put(a.wide)
	}
	a.buf, a.pooled, a.wide = nil, nil, nil
}

// fillUp reads until the source ends or the bound is reached.
func (a *ahead) fillUp(bound int) {
	for a.err == nil && len(a.buf) < bound {
		a.fill(bound)
	}
}

// Read reads from the buffer, then from the source.
func (a *ahead) Read(p []byte) (int, error) {
	if a.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if a.at < len(a.buf) {
		n := copy(p, a.buf[a.at:])
		a.at += n
		return n, nil
	}
	a.drop()
	a.at = 0
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.src.Read(p)
	a.err = err
	return n, err
}

// Close closes the body. It may be called again, and while another goroutine
// reads.
func (a *ahead) Close() error {
	a.closed.Store(true)
	return a.release()
}

// release closes the source, once. The buffer can still be read.
func (a *ahead) release() error {
	if a.released.Swap(true) {
		return nil
	}
	return a.src.Close()
}

// link ends the sending of a try with two contexts: the try's, which ends when
// package retry has its result, and the caller's, which bounds the answer's body
// until that is closed.
type link struct {
	cancel                  context.CancelCauseFunc
	unlinkTry, unlinkCaller func() bool
}

// linkContexts returns a context that ends with the try or the caller, as long as
// the link has not been cut.
func linkContexts(try, caller context.Context) (context.Context, link) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(try))
	follow := func(c context.Context) func() bool {
		return context.AfterFunc(c, func() { cancel(context.Cause(c)) })
	}
	return ctx, link{cancel, follow(try), follow(caller)}
}

// end cuts the link. The zero link is cut.
func (l link) end() {
	if l.cancel == nil {
		return
	}
	l.unlinkTry()
	l.unlinkCaller()
	l.cancel(nil)
}

// linkedBody is a body that cuts a link when it is closed.
type linkedBody struct {
	io.ReadCloser
	link link
}

// Close closes the body and ends its link.
func (b *linkedBody) Close() error {
	defer b.link.end()
	return b.ReadCloser.Close()
}
