package http1

import (
	"net"
	"syscall"
	"time"
)

// conn is a connection and what is needed to keep it for later.
type conn struct {
	net.Conn
	host   string
	reused bool
	since  time.Time // idle since

	raw   syscall.RawConn    // asks the kernel; nil: there is none below
	look  func(uintptr) bool // for raw.Read; here, so that it is made once
	quiet bool               // look's result
}

func newConn(c net.Conn, host string) *conn {
	made := &conn{Conn: c, host: host}
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			made.raw, made.look = raw, made.peek
		}
	}
	return made
}

// silent tells whether an idle connection is as it should be: open, with
// nothing to read. An end or a stray answer that has arrived shows here; where
// there is no kernel to ask, an end shows in the next request.
func (c *conn) silent() bool {
	if c.raw == nil {
		return true
	}
	c.quiet = false
	return c.raw.Read(c.look) == nil && c.quiet
}
