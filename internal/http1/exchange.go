package http1

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	bufSize  = 4 << 10 // for the head of a request, and for one read of an answer's
	maxHead  = 1 << 20 // of an answer, 1xx included
	maxInfos = 100     // answers with 1xx before the final one
	maxLines = 4 << 10 // of a head: each becomes an entry of a map
)

// buffers are for heads.
var buffers = sync.Pool{New: func() any { return new([bufSize]byte) }}

// exchange is one request and its answer on one connection. It is the body of the answer. Its fields belong
// to the caller of RoundTrip, and then to the reader of the body, under mu.
type exchange struct {
	resp    http.Response
	t       *Transport
	ctx     context.Context
	conn    *conn
	up      upload
	unwatch func() bool // stops watching ctx; nil: it never ends
	over    atomic.Bool // setting it is the right to close or keep the connection

	buf      *[bufSize]byte // nil: returned to the pool while it is empty
	in       []byte         // buf, or a larger one for a large head
	r, w     int            // in[r:w] has been read from the connection and not used
	pending  error          // of the connection, due when in[r:w] is used up
	answered bool           // a byte has come
	last     bool           // the connection closes after this exchange

	mu     sync.Mutex
	closed atomic.Bool
	frame  framing
	err    error // how the body has ended; nil: it has not
	excess bool  // more has come than the answer
}

func newExchange(t *Transport, req *http.Request, b body) *exchange {
	x := &exchange{t: t, ctx: req.Context(), buf: buffers.Get().(*[bufSize]byte)}
	x.resp.Request = req
	x.up.x, x.up.body, x.up.length = x, b, bodyLength(req)
	return x
}

// afterFunc is [context.AfterFunc], without what that costs where the context has a method for it; nil: the context
// never ends.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	if c, ok := ctx.(interface {
		AfterFunc(f func()) (stop func() bool)
	}); ok {
		return c.AfterFunc(f)
	}
	if ctx.Done() == nil {
		return nil
	}
	return context.AfterFunc(ctx, f)
}

// run sends the request and reads the head of its answer.
func (x *exchange) run(head []byte) error {
	x.unwatch = afterFunc(x.ctx, x.abort)
	req := x.resp.Request
	x.up.start(head, req.GetBody != nil)
	if x.up.broken() {
		return x.up.err
	}
	x.free() // it may be long before there is something to read
	if err := x.readHead(); err != nil {
		if !x.answered && x.up.lost() {
			return x.up.err
		}
		return err
	}
	x.last = x.resp.Close || closes(req) // the caller may change the request and the response
	if x.frame.ended() {
		x.resp.Body = http.NoBody
		x.end(true)
		return nil
	}
	x.resp.Body = x
	return nil
}

// readHead reads up to the head of the final answer.
func (x *exchange) readHead() error {
	left := maxHead
	for range maxInfos {
		var s scanner
		end, err := x.seek(&s, left)
		if err != nil {
			return err
		}
		if err := parseHead(string(x.in[x.r:x.r+end]), s.lines, &x.resp); err != nil {
			return err
		}
		x.r += end
		left -= end
		switch code := x.resp.StatusCode; {
		case code == http.StatusSwitchingProtocols:
			return malformed("a 101 that was not asked for")
		case code >= 200:
			return x.frame.set(&x.resp)
		}
	}
	return malformed("more than %d answers with 1xx", maxInfos)
}

// seek reads until the whole head is there and returns its length.
func (x *exchange) seek(s *scanner, most int) (int, error) {
	for {
		end, err := s.end(x.in[x.r:x.w])
		if end > 0 && end <= most || err != nil {
			return end, err
		}
		if x.w-x.r >= most {
			return 0, malformed("a header above %d bytes", maxHead)
		}
		if x.pending != nil {
			return 0, x.cut()
		}
		x.fill()
	}
}

// cut returns the error for the end of the connection in or before the head.
func (x *exchange) cut() error {
	switch {
	case x.pending != io.EOF:
		return x.pending
	case x.answered:
		return fmt.Errorf("http1: the connection ended inside the header: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("http1: the server closed the connection without an answer: %w", io.EOF)
}

// fill reads once, into a larger buffer if this one is full.
func (x *exchange) fill() {
	switch {
	case x.in == nil:
		x.buf, x.w, x.pending = x.conn.receive()
		x.in, x.answered = x.buf[:], x.answered || x.w > 0
		return
	case x.r == x.w:
		x.r, x.w = 0, 0
	case x.w == len(x.in) && x.r > 0:
		x.w = copy(x.in, x.in[x.r:x.w])
		x.r = 0
	case x.w == len(x.in):
		grown := make([]byte, 4*len(x.in))
		copy(grown, x.in)
		x.in = grown
	}
	n, err := x.conn.Read(x.in[x.w:])
	x.w += n
	x.pending = err
	x.answered = x.answered || n > 0
}

// abort ends the exchange from another goroutine. The connection is closed, unless
// the exchange was over before: then it may carry another by now.
func (x *exchange) abort() {
	if x.over.CompareAndSwap(false, true) {
		_ = x.conn.Close()
	}
}

// end ends the exchange for the reader. The connection is kept for another one if that is possible.
func (x *exchange) end(whole bool) {
	if x.unwatch != nil {
		x.unwatch()
	}
	excess := x.excess || x.r < x.w || x.pending != nil
	x.free()
	if !x.over.CompareAndSwap(false, true) {
		return
	}
	reuse, later := false, false
	if whole && !excess && !x.last {
		reuse, later = x.up.settle()
	}
	switch {
	case reuse:
		x.t.put(x.conn)
	case !later:
		_ = x.conn.Close()
	}
}

// keep puts the connection back when the upload ends after the answer.
func (x *exchange) keep() {
	_ = x.conn.SetWriteDeadline(time.Time{})
	x.t.put(x.conn)
}

// free returns the buffer to the pool.
func (x *exchange) free() {
	if x.buf != nil {
		buffers.Put(x.buf)
	}
	x.buf, x.in, x.r, x.w = nil, nil, 0, 0
}
