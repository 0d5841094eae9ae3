// Package cork is a connection that hands what is written in quick succession to the kernel together: on its own
// each write is a system call, which costs more than everything else about it.
//
// The gateway puts it below TLS. net/http writes the header of a request and its body apart, TLS each record of a
// body, and the requests that share a connection of HTTP/2 know nothing of each other. The server puts it below HTTP.
// net/http's server has a buffer of 4 KB: it writes a part of an answer that is larger in pieces, and the end of a
// body by itself. Full records together take 64 KB over HTTP/2 from 0.94 of a plain proxy's time to 0.82.
package cork

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	room       = 16 << 10              // for small writes
	wideRoom   = 66 << 10              // for records: a body of 64 KB, and the header before it
	large      = 4 << 10               // a write of so much does not wait for others
	full       = 4 << 10               // the buffer of net/http's server
	record     = 16 << 10              // what a full record of TLS has at least
	recordEnd  = record + 1<<10        // and what none has
	moment     = time.Millisecond      // for the record that follows a full one
	flushLimit = 50 * time.Millisecond // for what is left at Close
)

// rooms and wideRooms are for what is to be written.
var (
	rooms     = sync.Pool{New: func() any { return new([room]byte) }}
	wideRooms = sync.Pool{New: func() any { return new([wideRoom]byte) }}
)

// keeping is how long a write is kept for others that may follow.
type keeping int

const (
	notAtAll   keeping = iota
	untilWait          // until the writer waits for something else
	forAMoment         // until some are together, or no other one has followed
)

// Conn is a connection that keeps some writes until the next one that it does not keep, or for as long as each of
// them is kept. An error of a write that it has kept is the error of the next one, and of all later ones.
type Conn struct {
	net.Conn

	keeps func(n int) keeping // a write of so much
	next  atomic.Bool         // the next one, whatever its size

	mu       sync.Mutex
	changed  sync.Cond   // a write has ended
	buf      []byte      // what is to be written, in a room; nil: nothing is
	flushing bool        // a goroutine is about to write it
	timer    *time.Timer // that writes what was kept for a moment; nil: nothing was so far
	timed    bool        // it runs
	writing  bool        // a goroutine writes, without mu
	err      error
	parts    [2][]byte   // of the write in progress
	all      net.Buffers // likewise
}

// newConn returns a Conn over another connection, which must not be written to besides.
func newConn(c net.Conn, keeps func(n int) keeping) *Conn {
	made := &Conn{Conn: c, keeps: keeps}
	made.changed.L = &made.mu
	return made
}

// belowTLS keeps what is not worth a system call of its own, and the records of a body that has more of them.
func belowTLS(n int) keeping {
	switch {
	case n < large:
		return untilWait
	case record <= n && n < recordEnd:
		return forAMoment
	}
	return notAtAll
}

// belowServer keeps what was the whole buffer of net/http's server, so that more follows.
func belowServer(n int) keeping {
	if n == full {
		return untilWait
	}
	return notAtAll
}

// Dial returns a function that makes connections with another one. Each is a Conn for what TLS writes.
func Dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newConn(NewSocket(c), belowTLS), nil
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
	return newConn(NewSocket(c), belowServer), nil
}

// connKey is the key of a Conn in a context.
type connKey struct{}

// Context returns the context of the requests on a connection, or on one over it, for http.Server.ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	own, ok := c.(*Conn)
	if over, is := c.(interface{ NetConn() net.Conn }); is && !ok {
		own, ok = over.NetConn().(*Conn)
	}
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, own)
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
	long := c.keeps(len(p))
	if long == notAtAll && c.next.Swap(false) {
		long = untilWait
	}
	if long == notAtAll || !c.fits(len(p), long) {
		return c.write(p)
	}
	if c.err != nil {
		return 0, c.err
	}
	c.buf = append(c.buf, p...)
	switch {
	case long == forAMoment:
		c.flushSoon()
	case !c.flushing:
		c.flushing = true
		go c.flush(&c.flushing)
	}
	return len(p), nil
}

// fits reports whether there is room for n bytes, and makes it. mu is held.
func (c *Conn) fits(n int, long keeping) bool {
	if long == forAMoment && cap(c.buf) < wideRoom {
		wide := append(wideRooms.Get().(*[wideRoom]byte)[:0], c.buf...)
		release(c.buf)
		c.buf = wide
	}
	if c.buf == nil && n <= room {
		c.buf = rooms.Get().(*[room]byte)[:0]
	}
	return len(c.buf)+n <= cap(c.buf)
}

// release returns a room to its pool.
func release(buf []byte) {
	switch cap(buf) {
	case room:
		rooms.Put((*[room]byte)(buf[:room]))
	case wideRoom:
		wideRooms.Put((*[wideRoom]byte)(buf[:wideRoom]))
	}
}

// write writes what is in buf, and p behind it. It returns how much of p is out. mu is held.
func (c *Conn) write(p []byte) (int, error) {
	for c.writing {
		c.changed.Wait()
	}
	buf := c.buf
	if c.err != nil || len(buf)+len(p) == 0 {
		return 0, c.err
	}
	c.buf, c.writing = nil, true
	c.mu.Unlock()
	written, err := c.send(buf, p)
	c.mu.Lock()
	c.writing, c.err = false, err
	c.changed.Broadcast()
	return max(0, written-len(buf)), err
}

// send writes buf, which it releases, and p behind it. It returns how many bytes are out.
func (c *Conn) send(buf, p []byte) (int, error) {
	if buf == nil {
		return c.Conn.Write(p)
	}
	defer release(buf)
	if len(p) <= cap(buf)-len(buf) {
		return c.Conn.Write(append(buf, p...))
	}
	c.parts = [2][]byte{buf, p}
	c.all = c.parts[:]
	written, err := c.all.WriteTo(c.Conn)
	c.parts = [2][]byte{}
	return int(written), err
}

// flush writes what is in buf. due said that it would, and is true no longer.
func (c *Conn) flush(due *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*due = false
	_, _ = c.write(nil) // the error stays
}

// flushSoon has what is in buf written in a moment. mu is held.
func (c *Conn) flushSoon() {
	switch {
	case c.timed:
		return
	case c.timer == nil:
		c.timer = time.AfterFunc(moment, func() { c.flush(&c.timed) })
	default:
		c.timer.Reset(moment)
	}
	c.timed = true
}

// NetConn returns the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Close closes the connection once what was written is out, or could not be written for a moment.
func (c *Conn) Close() error {
	c.mu.Lock()
	if len(c.buf) > 0 || c.writing {
		_ = c.Conn.SetWriteDeadline(time.Now().Add(flushLimit)) // else Close could wait for the other side
	}
	_, _ = c.write(nil) // it closes
	if c.err == nil {
		c.err = net.ErrClosed
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
