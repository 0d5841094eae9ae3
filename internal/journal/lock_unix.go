//go:build unix

package journal

import (
	"errors"
	"syscall"
)

// lock makes the file this process's. Two that append to one conversation
// would both be wrong about it.
func (f *File) lock() error {
	err := syscall.Flock(int(f.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another process is writing to it")
	}
	return err
}
