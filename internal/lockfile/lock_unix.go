//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file for this process, until the file is closed or the process ends.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
