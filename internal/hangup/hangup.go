// Package hangup ends connections on which nothing comes, because the server that has accepted them no longer
// listens. A local server may stop without a word to those who wait for it: llama-server neither answers nor closes
// what is queued, for longer than a minute, and a new process may serve its port meanwhile. The gateway dials with it.
//
// A refused connection proves that the process behind an earlier one has closed its listener. Nothing else does: a
// model may think for minutes before its first byte, and a later request is answered earlier where a server has
// several slots. Many servers close the listener first and answer what they have, so a silent connection lasts 30 s
// more, which is the least that Kubernetes leaves them. One that still answers after that is asked twice; one that is
// replaced before any connection was refused is found only by the limit on silence.
//
// It asks nothing of a server on the internet, where another machine may answer the next connection (ADR 6).
package hangup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	period      = 10 * time.Second // a silence is looked at so often
	grace       = 30 * time.Second // a server that no longer listens may still answer
	lookTimeout = 2 * time.Second
)

// dial makes a connection, as net.Dialer.DialContext does.
type dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial returns a function that makes connections with another one. A connection to this machine or a private network
// fails on a read with an error that is syscall.ECONNRESET when nothing has come since the last write, a connection to
// the same address has been refused since, and 30 s have passed. While nothing comes, the address is tried after 20 s
// at the latest, and then each time after twice as long: a server without time to accept these connections queues them.
func Dial(with dial) func(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &dialer{dial: with, servers: map[string]*server{}}
	return d.connect
}

// dialer has the servers by what was dialed.
type dialer struct {
	dial dial

	mu      sync.Mutex
	servers map[string]*server
}

// server is where connections have been made.
type server struct {
	look func() error // makes a connection and closes it

	mu      sync.Mutex
	looked  time.Time
	refused time.Time // last; zero: never
}

func (d *dialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	made, err := d.dial(ctx, network, addr)
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.servers[addr]
	if s != nil {
		s.note(err)
	}
	if err != nil || !isLocal(made.RemoteAddr()) {
		return made, err
	}
	if s == nil {
		s = &server{look: func() error { return d.try(network, addr) }}
		d.servers[addr] = s
	}
	return &conn{Conn: made, server: s, made: time.Now()}, nil
}

// try makes a connection and closes it.
func (d *dialer) try(network, addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	c, err := d.dial(ctx, network, addr)
	if err == nil {
		err = c.Close()
	}
	return err
}

// isLocal reports whether an address is on this machine or in a private network.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && (tcp.IP.IsLoopback() || tcp.IP.IsPrivate())
}

// note takes in the outcome of a dial.
func (s *server) note(err error) {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = time.Now()
}

// lookAgain looks, unless another connection has just done so.
func (s *server) lookAgain() {
	s.mu.Lock()
	recent := time.Since(s.looked) < period && !s.looked.IsZero()
	if !recent {
		s.looked = time.Now()
	}
	s.mu.Unlock()
	if !recent {
		s.note(s.look())
	}
}

// refusedSince reports whether a connection was refused after a time: then another listener, or none, is there.
func (s *server) refusedSince(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused.After(t)
}

// conn is a connection to a server nearby. Its timer runs from a write until a period in which it is not silent, so
// that a request costs no timer.
type conn struct {
	net.Conn
	server *server
	made   time.Time
	writes atomic.Int64 // since the last read that brought something
	armed  atomic.Bool

	mu     sync.Mutex
	timer  *time.Timer // nil: there was no write so far
	waited int64       // writes when the timer last fired
	quiet  int         // periods of the present silence
	gone   time.Time   // when it was found that the server no longer listens; zero: it was not
	closed bool
	err    error // of reads, once it was ended
}

func (c *conn) Write(p []byte) (int, error) {
	defer c.wrote()
	return c.Conn.Write(p)
}

// ReadFrom implements io.ReaderFrom, for the connection below.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	defer c.wrote()
	return io.Copy(c.Conn, r)
}

// wrote notes a write.
func (c *conn) wrote() {
	c.writes.Add(1)
	if !c.armed.CompareAndSwap(false, true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited, c.quiet = 0, 0
	switch {
	case c.closed:
	case c.timer == nil:
		c.timer = time.AfterFunc(period, c.check)
	default:
		c.timer.Reset(period)
	}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.writes.Store(0)
		return n, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		err = c.err
	}
	return n, err
}

// Close closes the connection.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// check looks at a silence, and ends the connection if its server is gone.
func (c *conn) check() {
	if c.isQuiet() {
		c.server.lookAgain()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := c.writes.Load()
	switch gone := c.server.refusedSince(c.made); {
	case c.closed:
		return
	case writes == 0: // something has come
		c.armed.Store(false)
		return
	case gone && c.gone.IsZero():
		c.gone = time.Now()
	case gone && c.quiet > 0 && time.Since(c.gone) >= grace:
		c.err = fmt.Errorf("%s no longer listens and has not answered: %w", c.RemoteAddr(), syscall.ECONNRESET)
		_ = c.Conn.Close()
		return
	}
	c.timer.Reset(period)
}

// isQuiet notes a period. It reports whether it is time to look: after 1, 2, 4 … of them without a byte either way.
func (c *conn) isQuiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := c.writes.Load()
	if writes == 0 || writes != c.waited {
		c.waited, c.quiet = writes, 0
		return false
	}
	c.quiet++
	return c.quiet&(c.quiet-1) == 0
}
