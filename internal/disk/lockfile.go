package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// LockName is the file that is locked. The id of the process that holds the lock is in it.
const LockName = "lock"

// ErrLocked reports that another process holds the lock.
var ErrLocked = errors.New("locked")

// Lock locks an existing directory until [Unlock] of the returned file or the end of the process. flag is os.O_CREATE,
// or 0 if the file must exist. If another process holds the lock, the error is [ErrLocked].
func Lock(dir string, flag int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err = LockFile(f); err == nil {
		err = errors.Join(f.Truncate(0), write(f, fmt.Appendf(nil, "%d\n", os.Getpid())))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// LockHolder returns the id of the process that has locked a directory last; 0: none.
func LockHolder(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, LockName))
	id, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return id
}

func write(f *os.File, data []byte) error {
	_, err := f.WriteAt(data, 0)
	return err
}
