package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// directory is one that this process has for itself. The server would let two
// processes write to it, and would delete the store of a process that was alone
// if it was opened as a node of a cluster.
type directory struct{ lock *os.File }

// occupy takes a directory for a kind of store.
func occupy(dir string, clustered bool) (directory, error) {
	if dir == "" {
		return directory{}, fmt.Errorf("%w: no directory", ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return directory{}, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return directory{}, err
	}
	d := directory{f}
	if err := d.take(dir); err != nil {
		return directory{}, errors.Join(err, f.Close())
	}
	if err := mark(filepath.Join(dir, "mode"), clustered); err != nil {
		return directory{}, errors.Join(err, d.release())
	}
	return d, nil
}

// take locks the directory and writes down who has it.
func (d directory) take(dir string) error {
	if err := lock(d.lock); err != nil {
		if !errors.Is(err, errLocked) {
			return err
		}
		holder, _ := os.ReadFile(d.lock.Name())
		return fmt.Errorf("%w: %s, by process %s", ErrInUse, dir, strings.TrimSpace(string(holder)))
	}
	if err := d.lock.Truncate(0); err != nil {
		return err
	}
	_, err := d.lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// release gives the directory back.
func (d directory) release() error { return d.lock.Close() }

// mark writes down what kind of store a directory has, and wants it to stay so.
func mark(name string, clustered bool) error {
	want := "alone\n"
	if clustered {
		want = "cluster\n"
	}
	is, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(name, []byte(want), 0o600)
	}
	if err == nil && string(is) != want {
		return fmt.Errorf("%w: %s says %q, and not %q", ErrMode, name, strings.TrimSpace(string(is)), strings.TrimSpace(want))
	}
	return err
}
