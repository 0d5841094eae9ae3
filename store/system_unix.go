//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that another process has a lock.
var errLocked = errors.New("locked")

// lock makes a file this process's, until it is closed or the process is gone.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
