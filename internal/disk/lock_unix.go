//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// LockFile locks a file for this process, until [Unlock] or the end of the process. If another process holds the lock,
// the error is [ErrLocked].
func LockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Unlock releases the lock of a file and closes it. To close it alone would leave the lock to a program that is being
// started at that moment, which has the open file until it runs.
func Unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
