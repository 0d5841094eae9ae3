//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// LockFile locks a file for this process, until the file is closed or the process ends. If another process holds the
// lock, the error is [ErrLocked].
func LockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
