package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// directory is one that this process has for itself. The server would let two
// processes write to it, and would delete the store of a process that was alone
// if it was opened as a node of a cluster.
type directory struct{ lock *os.File }

// The files that tell of a directory: whoever has it keeps the first one
// locked, and the second one says what kind of store it is.
const (
	lockName = "lock"
	modeName = "mode"
)

// occupy takes a directory for a kind of store.
func occupy(dir string, clustered bool) (directory, error) {
	if dir == "" {
		return directory{}, fmt.Errorf("%w: no directory", ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return directory{}, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return directory{}, err
	}
	d := directory{f}
	if err := d.take(dir); err != nil {
		return directory{}, errors.Join(err, f.Close())
	}
	if err := mark(filepath.Join(dir, modeName), clustered); err != nil {
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

// Remove takes a store away, with all that is in its directory. ErrInUse says
// that a process has it. Where there is none, there is nothing to do.
func Remove(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := directory{f}
	defer func() { _ = d.release() }() // a file that is gone
	if err := d.take(dir); err != nil {
		return err
	}
	return empty(dir)
}

// empty empties a directory that is ours, and takes it away. Its lock and its
// mark are the last: who comes meanwhile is told that it is in use, and who
// finds the rest of a removal knows what it is.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	marked := func(e os.DirEntry) bool { return e.Name() == modeName }
	if !slices.ContainsFunc(entries, marked) && len(entries) > 1 {
		return fmt.Errorf("%w: %s holds more than a store", ErrInvalid, dir)
	}
	for _, e := range entries {
		if e.Name() != lockName && e.Name() != modeName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, modeName)), os.RemoveAll(dir))
}

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
