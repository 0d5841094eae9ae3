//go:build unix

package http1

import "syscall"

// peek reads without waiting. There must be nothing, and no end.
func (c *conn) peek(fd uintptr) bool {
	var b [1]byte
	_, err := syscall.Read(int(fd), b[:])
	c.quiet = err == syscall.EAGAIN || err == syscall.EINTR
	return true
}
