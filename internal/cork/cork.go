// Package cork is a connection that hands what is written in quick succession to the kernel together: on its own
// each write is a system call, which costs more than everything else about it.
//
// The gateway puts it below TLS. net/http writes the header of a request and its body apart, and the requests that
// share a connection of HTTP/2 know nothing of each other. The server puts it below HTTP. net/http's server has a
// buffer of 4 KB: it writes a part of an answer that is larger in pieces, and the end of a body by itself.
package cork

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/socket"
)

const (
	room       = 16 << 10              // for what is written together
	large      = 4 << 10               // a write of so much is worth a system call of its own
	full       = 4 << 10               // the buffer of net/http's server
	flushLimit = 50 * time.Millisecond // for what is left at Close
)

// rooms are for what is to be written.
var rooms = sync.Pool{New: func() any { return new([room]byte) }}

// Conn is a connection that keeps some writes: until the next one that it does not keep, or until the writer waits
// for something else. An error of a write that it has kept is the error of the next one, and of all later ones.
type Conn struct {
	net.Conn

	keeps func(n int) bool // a write of so much
	next  atomic.Bool      // the next one, whatever its size

	mu       sync.Mutex
	changed  sync.Cond   // a write has ended
	buf      *[room]byte // nil: nothing is to be written
	n        int         // bytes of buf
	flushing bool        // a goroutine is about to write what is in buf
	writing  bool        // one does, without mu
	err      error
	parts    [2][]byte   // of the write in progress
	all      net.Buffers // likewise
}

// newConn returns a Conn over another connection, which must not be written to besides.
func newConn(c net.Conn, keeps func(n int) bool) *Conn {
	made := &Conn{Conn: c, keeps: keeps}
	made.changed.L = &made.mu
	return made
}

// small reports whether a write is not worth a system call of its own.
func small(n int) bool { return n < large }

// fills reports whether a write is a buffer of net/http's server that was full, so that more follows.
func fills(n int) bool { return n == full }

// Dial returns a function that makes connections with another one. Each is a Conn that keeps small writes.
func Dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newConn(socket.New(c), small), nil
	}
}

// Listener accepts the connections of an http.Server without TLS. Each is a Conn that keeps the pieces of which
// another one follows.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(socket.New(c), fills), nil
}

// connKey is the key of a Conn in a context.
type connKey struct{}

// Context returns the context of the requests on a connection, or on one over it, for http.Server.ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = over.NetConn()
	}
	if own, ok := c.(*Conn); ok {
		return context.WithValue(ctx, connKey{}, own)
	}
	return ctx
}

// KeepNext has the connection of a request keep the next write, since another one follows at once.
func KeepNext(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		c.next.Store(true)
	}
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.keeps(len(p)) && !c.next.Swap(false) || c.n+len(p) > room {
		return c.write(p)
	}
	if c.err != nil {
		return 0, c.err
	}
	if c.buf == nil {
		c.buf = rooms.Get().(*[room]byte)
	}
	c.n += copy(c.buf[c.n:], p)
	if !c.flushing {
		c.flushing = true
		go c.flush()
	}
	return len(p), nil
}

// write writes what is in buf, and p behind it. It returns how much of p is out. mu is held.
func (c *Conn) write(p []byte) (int, error) {
	for c.writing {
		c.changed.Wait()
	}
	buf, n := c.buf, c.n
	if c.err != nil || n+len(p) == 0 {
		return 0, c.err
	}
	c.buf, c.n, c.writing = nil, 0, true
	c.mu.Unlock()
	written, err := c.send(buf, n, p)
	c.mu.Lock()
	c.writing, c.err = false, err
	c.changed.Broadcast()
	return max(0, written-n), err
}

// send writes n bytes of buf, which it releases, and p behind them. It returns how many bytes are out.
func (c *Conn) send(buf *[room]byte, n int, p []byte) (int, error) {
	if buf == nil {
		return c.Conn.Write(p)
	}
	defer rooms.Put(buf)
	if len(p) <= room-n {
		return c.Conn.Write(buf[:n+copy(buf[n:], p)])
	}
	c.parts = [2][]byte{buf[:n], p}
	c.all = c.parts[:]
	written, err := c.all.WriteTo(c.Conn)
	c.parts = [2][]byte{}
	return int(written), err
}

// flush writes what is in buf.
func (c *Conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushing = false
	_, _ = c.write(nil) // the error stays
}

// Close closes the connection once what was written is out, or could not be written for a moment.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.n > 0 || c.writing {
		_ = c.Conn.SetWriteDeadline(time.Now().Add(flushLimit)) // else Close could wait for the other side
	}
	_, _ = c.write(nil) // it closes
	if c.err == nil {
		c.err = net.ErrClosed
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
