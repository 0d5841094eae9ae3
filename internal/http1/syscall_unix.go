//go:build unix

package http1

import (
	"syscall"

	"github.com/ridethrough/ridethrough/internal/socket"
)

// systemCalls reports whether connections can be read without waiting.
const systemCalls = true

// tryPeek reads without waiting. There must be nothing to read, and no end.
func (c *conn) tryPeek(fd uintptr) bool {
	var b [1]byte
	_, err := socket.Read(fd, b[:])
	c.silent = err == syscall.EAGAIN
	return true
}

// tryRead reads without waiting; false: there is nothing yet, and no buffer is taken.
func (c *conn) tryRead(fd uintptr) bool {
	c.buf = buffers.Get().(*[bufSize]byte)
	c.n, c.errno = socket.Read(fd, c.buf[:])
	if c.errno != syscall.EAGAIN {
		return true
	}
	buffers.Put(c.buf)
	c.buf = nil
	return false
}
