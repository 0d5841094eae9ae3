package transport

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds on what is kept of a body.
const (
	errorBound   = 64 << 10         // of an error's body, to name the fault
	aheadBound   = 1 << 20          // of an answer before its first content, or in one frame
	bodyPatience = 10 * time.Second // for the body of an error
)

// ahead is a body of which more has been read than handed on.
type ahead struct {
	src    io.ReadCloser
	buf    []byte
	pooled *[firstBuf]byte // what buf lies in; nil: it is its own or there is none
	at     int             // buf[at:] is to be handed on
	err    error           // how src has ended; nil: it has not

	closed   atomic.Bool // by the reader
	released atomic.Bool // the source is closed
}

// firstBuf is the size of a body's first buffer: most answers that are not
// streamed, and most streams up to their first content, need no other.
const firstBuf = 4 << 10

// buffers holds first buffers. A buffer goes back when the reader has had all
// of it, never when the body is closed, which another goroutine may do.
var buffers = sync.Pool{New: func() any { return new([firstBuf]byte) }}

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
	a.err = err
}

// drop lets go of the buffer.
func (a *ahead) drop() {
	if a.pooled != nil {
		buffers.Put(a.pooled)
	}
	a.buf, a.pooled = nil, nil
}

// fillUp reads until the source ends or the bound is reached.
func (a *ahead) fillUp(bound int) {
	for a.err == nil && len(a.buf) < bound {
		a.fill(bound)
	}
}

// Read hands on what was kept, then what the source gives.
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

// release closes the source, once. What was kept can still be read.
func (a *ahead) release() error {
	if a.released.Swap(true) {
		return nil
	}
	return a.src.Close()
}

// bond ties the sending of a try to two contexts: the try's, which ends when
// package retry has its result, and the caller's, to which the answer's body
// belongs until it is closed.
type bond struct {
	cancel      context.CancelCauseFunc
	try, caller func() bool // unties it from one of them
}

// tie gives a context that ends with the try or the caller, whichever the bond
// still holds.
func tie(try, caller context.Context) (context.Context, bond) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(try))
	follow := func(c context.Context) func() bool {
		return context.AfterFunc(c, func() { cancel(context.Cause(c)) })
	}
	return ctx, bond{cancel, follow(try), follow(caller)}
}

// end unties everything. The zero bond has nothing to untie.
func (b bond) end() {
	if b.cancel == nil {
		return
	}
	b.try()
	b.caller()
	b.cancel(nil)
}

// bound is a body that ends a bond when it is closed.
type bound struct {
	io.ReadCloser
	bond bond
}

func (b *bound) Close() error {
	defer b.bond.end()
	return b.ReadCloser.Close()
}
