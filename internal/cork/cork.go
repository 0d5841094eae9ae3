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
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	room       = 66 << 10              // for what is kept: a body of 64 KB in records, and the header before it
	large      = 4 << 10               // a write of so much does not wait for others, unless it is the buffer of net/http's server
	record     = 16 << 10              // what a full record of TLS has at least
	recordEnd  = record + 1<<10        // and what none has
	moment     = time.Millisecond      // for the record that follows a full one
	flushLimit = 50 * time.Millisecond // for what is left at Close
)

var rooms = sync.Pool{New: func() any { return new([room]byte) }}

// keeping is how long a write is kept for others that may follow.
type keeping int

const (
	untilWait  keeping = iota // until the writer waits for something else
	forAMoment                // until some are together, or no other one has followed
	notAtAll
)

// Conn is a connection that keeps some writes until the next one that it does not keep, or for as long as each of
// them is kept. An error of a write that it has kept is the error of the next one, and of all later ones.
type Conn struct {
	net.Conn

	keeps func(n int) keeping // a write of so much
	next  atomic.Bool         // the next one, whatever its size

	mu      sync.Mutex
	changed sync.Cond      // a write has ended
	buf     []byte         // what is to be written, in a room; nil: nothing is
	due     [notAtAll]bool // it is about to be written, once it was kept for so long
	writing bool           // a goroutine writes, without mu
	err     error
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
	if n == large {
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

// connKey is the key of a connection in a context.
type connKey struct{}

// Context returns the context of the requests on a connection, or on one over it, for http.Server.ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	if _, own := c.(*Conn); !own {
		if over, is := c.(interface{ NetConn() net.Conn }); is {
			c = over.NetConn()
		}
	}
	return context.WithValue(ctx, connKey{}, c)
}

// KeepNext has the connection of a request, if it is a Conn, keep the next write, since another one follows at once.
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
	if len(c.buf)+len(p) > room {
		_, _ = c.write(nil) // the error stays
	}
	if long == notAtAll || len(p) > room {
		return c.write(p)
	}
	if c.err != nil {
		return 0, c.err
	}
	if c.buf == nil {
		c.buf = rooms.Get().(*[room]byte)[:0]
	}
	c.buf = append(c.buf, p...)
	switch due := c.due[long]; {
	case due:
	case long == forAMoment:
		time.AfterFunc(moment, func() { c.flush(forAMoment) })
	default:
		go c.flush(untilWait)
	}
	c.due[long] = true
	return len(p), nil
}

// flush writes what is in buf, which was kept for so long.
func (c *Conn) flush(kept keeping) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due[kept] = false
	_, _ = c.write(nil) // the error stays
}

// write writes buf and then p, and returns how much of p is out. mu is held, except during the write.
func (c *Conn) write(p []byte) (n int, err error) {
	for c.writing {
		c.changed.Wait()
	}
	buf := c.buf
	if c.err != nil || len(buf)+len(p) == 0 {
		return 0, c.err
	}
	c.buf, c.writing = nil, true
	c.mu.Unlock()
	if buf == nil {
		n, err = c.Conn.Write(p)
	} else {
		n, err = c.Conn.Write(append(buf, p...))
		n = max(0, n-len(buf))
		rooms.Put((*[room]byte)(buf[:room]))
	}
	c.mu.Lock()
	c.writing, c.err = false, err
	c.changed.Broadcast()
	return n, err
}

// ReadFrom implements io.ReaderFrom. Without TLS the body of a request goes out in pieces as large as a room, each once it
// is full: 512 KB take 1.1 of a plain proxy's time, in pieces of 16 KB 1.6.
func (c *Conn) ReadFrom(r io.Reader) (total int64, err error) {
	piece := rooms.Get().(*[room]byte)
	defer rooms.Put(piece)
	for {
		n, ended := io.ReadFull(r, piece[:])
		if n > 0 {
			n, err = c.Write(piece[:n])
			total += int64(n)
		}
		switch {
		case err != nil:
			return total, err
		case ended == io.EOF || ended == io.ErrUnexpectedEOF:
			return total, nil
		case ended != nil:
			return total, ended
		}
	}
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
