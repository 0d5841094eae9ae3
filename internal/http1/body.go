package http1

import (
	"context"
	"io"
	"net/http"
)

// Read returns what one read of the connection has brought. It reads again only if that was nothing of the
// body. Chunks that have come together are returned together.
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
			x.err = x.reason(err)
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
	n, used, err := x.frame.take(p, raw)
	if direct {
		x.excess = used < len(raw)
	} else {
		x.r += used
	}
	switch {
	case err != nil:
		return n, err
	case x.frame.ended():
		return n, io.EOF
	}
	return n, nil
}

// readInto reads straight into the caller's memory, at most what is left of the body.
func (x *exchange) readInto(p []byte) []byte {
	n, err := x.conn.Read(x.frame.bound(p))
	x.pending = err
	return p[:n]
}

// reason returns why the body cannot be read, where more is known than the connection's error.
func (x *exchange) reason(err error) error {
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

// Close keeps the connection if the rest of the body has been received, and closes it if not. It may be
// called again, and while another goroutine reads: that ends the read.
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
