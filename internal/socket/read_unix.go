//go:build unix && (!linux || race)

package socket

import "syscall"

// Read reads once from a socket that does not block, at least one byte. The error is a syscall.Errno, or nil.
func Read(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		if err != syscall.EINTR {
			return max(0, n), err
		}
	}
}
