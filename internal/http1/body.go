package http1

import (
	"context"
	"io"
	"net/http"
)

// Read gives what one read of the connection has brought, and waits only where
// that was nothing of the body. Chunks that have come together are given
// together.
func (x *exchange) Read(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		switch {
		case x.closed.Load():
			return 0, http.ErrBodyReadAfterClose
		case x.err != nil:
			return 0, x.err
		case len(p) == 0:
			return 0, nil
		}
		n, err := x.read(p)
		if err != nil {
			x.err = x.named(err)
			x.end(err == io.EOF)
		}
		if n > 0 || err != nil {
			return n, x.err
		}
	}
}

// read reads the connection at most once. io.EOF is the end of the body.
func (x *exchange) read(p []byte) (int, error) {
	raw, direct := x.in[x.r:x.w], false
	switch {
	case len(raw) > 0:
	case x.pending != nil:
		return 0, x.frame.cut(x.pending)
	case len(p) >= bufSize || x.frame.fits(p):
		x.free()
		raw, direct = x.readInto(p), true
	default:
		x.fill()
		raw = x.in[x.r:x.w]
	}
	given, used, err := x.frame.take(p, raw)
	if direct {
		x.stray = used < len(raw)
	} else {
		x.r += used
	}
	switch {
	case err != nil:
		return given, err
	case x.frame.ended():
		return given, io.EOF
	}
	return given, nil
}

// readInto reads what is not longer than the body is known to be straight into
// the caller's memory.
func (x *exchange) readInto(p []byte) []byte {
	n, err := x.conn.Read(x.frame.bound(p))
	x.pending = err
	return p[:n]
}

// named gives the reason why the body cannot be read, where it is known better
// than by the connection's error.
func (x *exchange) named(err error) error {
	switch {
	case err == io.EOF:
		return err
	case x.ctx.Err() != nil:
		return context.Cause(x.ctx)
	case x.closed.Load():
		return http.ErrBodyReadAfterClose
	case x.up.broken():
		return x.up.err
	}
	return err
}

// Close gives the connection back if the rest of the body has been received,
// and closes it if not. It may be called again, and while another goroutine
// reads, which it then ends.
func (x *exchange) Close() error {
	if x.closed.Swap(true) {
		return nil
	}
	if !x.mu.TryLock() {
		x.abort()
		return nil
	}
	defer x.mu.Unlock()
	if x.err != nil {
		return nil
	}
	var scratch [512]byte
	for x.err == nil && x.r < x.w {
		_, x.err = x.read(scratch[:])
	}
	x.end(x.err == io.EOF)
	x.err = http.ErrBodyReadAfterClose
	return nil
}
