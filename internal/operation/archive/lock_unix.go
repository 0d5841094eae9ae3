//go:build unix

package archive

import (
	"errors"
	"syscall"
)

// lock keeps other processes from appending to the same conversation.
func (f *File) lock() error {
	err := syscall.Flock(int(f.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another process is writing to it")
	}
	return err
}
