package http1

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// conn is a connection and what is needed to keep it for later.
type conn struct {
	net.Conn
	host   string
	reused bool
	since  time.Time // idle since

	raw        syscall.RawConn    // asks the kernel; nil: there is none below
	look, wait func(uintptr) bool // peek and arrive, made once

	// what look and wait have found
	quiet bool
	buf   *[bufSize]byte
	n     int
	errno error
}

func newConn(c net.Conn, host string) *conn {
	made := &conn{Conn: c, host: host}
	if s, ok := c.(syscall.Conn); ok && kernel {
		if raw, err := s.SyscallConn(); err == nil {
			made.raw, made.look, made.wait = raw, made.peek, made.arrive
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

// receive reads once, into a buffer that it takes from the pool when there is
// something to read: a request may wait for its answer for long, and many do.
func (c *conn) receive() (buf *[bufSize]byte, n int, err error) {
	if c.raw == nil {
		buf = buffers.Get().(*[bufSize]byte)
		n, err = c.Read(buf[:])
		return buf, n, err
	}
	if err := c.raw.Read(c.wait); err != nil {
		return buffers.Get().(*[bufSize]byte), 0, err
	}
	buf, c.buf = c.buf, nil
	switch {
	case c.errno != nil:
		return buf, 0, &net.OpError{
			Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(),
			Err: os.NewSyscallError("read", c.errno),
		}
	case c.n == 0:
		return buf, 0, io.EOF
	}
	return buf, c.n, nil
}
