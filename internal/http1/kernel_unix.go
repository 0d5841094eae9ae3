//go:build unix

package http1

import "syscall"

// kernel tells that connections can be asked without waiting.
const kernel = true

// peek reads without waiting. There must be nothing, and no end.
func (c *conn) peek(fd uintptr) bool {
	var b [1]byte
	_, err := syscall.Read(int(fd), b[:])
	c.quiet = err == syscall.EAGAIN || err == syscall.EINTR
	return true
}

// arrive reads what is there; false: nothing yet, and no buffer is taken.
func (c *conn) arrive(fd uintptr) bool {
	c.buf = buffers.Get().(*[bufSize]byte)
	c.n, c.errno = syscall.Read(int(fd), c.buf[:])
	for c.errno == syscall.EINTR {
		c.n, c.errno = syscall.Read(int(fd), c.buf[:])
	}
	if c.errno != syscall.EAGAIN {
		return true
	}
	buffers.Put(c.buf)
	c.buf = nil
	return false
}
