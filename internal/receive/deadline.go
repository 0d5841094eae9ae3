package receive

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Listener accepts connections whose read deadlines cost little to move: net/http moves that of a connection six
// times for each request, always to a later moment but once.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn is a connection that is given a later read deadline only once the earlier one has come.
type conn struct {
	net.Conn

	mu     sync.Mutex
	wanted time.Time // the read deadline; zero: none
	set    time.Time // that the connection below has, which is no later

	interrupted atomic.Bool // set is one that is always past
}

// resumeTime is the first deadline after one that was past. It is earlier than those that net/http sets for the next
// request, which then need not be set.
const resumeTime = 5 * time.Second

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = t
	if t.IsZero() || !c.set.IsZero() && !t.Before(c.set) {
		return nil
	}
	return c.apply(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.interrupted.Load() {
		c.resume()
	}
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !c.goesOn() {
			return n, err
		}
	}
}

// goesOn reports whether a deadline that has come is not the wanted one any more, which it sets then.
func (c *conn) goesOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.wanted.Equal(c.set) && c.apply(c.wanted) == nil
}

// resume lets the connection be read again after a past deadline, by which net/http ends a read, unless that one
// holds. The read would fail first otherwise.
func (c *conn) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted.Equal(c.set) {
		return
	}
	t := c.wanted
	if soon := time.Now().Add(resumeTime); t.After(soon) {
		t = soon
	}
	_ = c.apply(t) // the read fails if it cannot be set
}

// apply sets the deadline of the connection below. mu is held.
func (c *conn) apply(t time.Time) error {
	c.set = t
	c.interrupted.Store(t.Unix() == 1) // as net/http does
	return c.Conn.SetReadDeadline(t)
}
