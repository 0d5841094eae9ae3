package http1

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// conn is a connection that may be pooled.
type conn struct {
	net.Conn
	host   string
	reused bool
	since  time.Time // idle since

	raw        syscall.RawConn    // for system calls; nil: not available
	peek, read func(uintptr) bool // tryPeek and tryRead, made once

	// results of peek and read
	silent bool
	buf    *[bufSize]byte
	n      int
	errno  error
}

func newConn(c net.Conn, host string) *conn {
	made := &conn{Conn: c, host: host}
	if s, ok := c.(syscall.Conn); ok && systemCalls {
		if raw, err := s.SyscallConn(); err == nil {
			made.raw, made.peek, made.read = raw, made.tryPeek, made.tryRead
		}
	}
	return made
}

// usable reports whether an idle connection is open, with nothing to read. It notices an end, or an answer
// without a request. Where system calls are not available, the next request notices an end.
func (c *conn) usable() bool {
	if c.raw == nil {
		return true
	}
	c.silent = false
	return c.raw.Read(c.peek) == nil && c.silent
}

// receive reads once. It takes a buffer from the pool only when there is something
// to read: many requests wait for their answers for long.
func (c *conn) receive() (buf *[bufSize]byte, n int, err error) {
	if c.raw == nil {
		buf = buffers.Get().(*[bufSize]byte)
		n, err = c.Read(buf[:])
		return buf, n, err
	}
	if err := c.raw.Read(c.read); err != nil {
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
