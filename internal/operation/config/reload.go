package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// reloaded is a value that is read from files, and read again when they change: keys, certificates and tokens are
// replaced under a running server. Its methods may be called concurrently.
type reloaded[T any] struct {
	parse  func(texts [][]byte) (T, error)
	report func(T, error)
	paths  []string

	mu    sync.Mutex
	value T
	seen  []os.FileInfo // the files when they were last read
}

// reload reads a value from the texts of some files. Later, report gets the value of changed files, or their error:
// then the previous value stays. That covers files that are missing or incomplete while they are replaced.
func reload[T any](parse func(texts [][]byte) (T, error), report func(T, error), paths ...string) (*reloaded[T], error) {
	v := &reloaded[T]{parse: parse, report: report, paths: paths}
	v.seen = v.state()
	var err error
	v.value, err = v.read()
	return v, err
}

// Get returns the value of the current files, or the last valid one.
func (v *reloaded[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.state()
	if slices.EqualFunc(now, v.seen, sameState) {
		return v.value
	}
	value, err := v.read()
	if v.seen = now; err == nil {
		v.value = value
	}
	v.report(value, err)
	return v.value
}

func (v *reloaded[T]) read() (value T, err error) {
	texts := make([][]byte, len(v.paths))
	for i, path := range v.paths {
		if texts[i], err = readRegular(path); err != nil {
			return value, fmt.Errorf("file %s: %w", path, pathless(err))
		}
	}
	return v.parse(texts)
}

func (v *reloaded[T]) state() []os.FileInfo {
	all := make([]os.FileInfo, len(v.paths))
	for i, path := range v.paths {
		all[i] = stateOf(path)
	}
	return all
}

// stateOf returns the state of a file, or nil if it does not exist.
func stateOf(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// sameState reports whether two states of a file are equal.
func sameState(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// readRegular reads a file. It refuses a pipe, which cannot be read again and may block forever.
func readRegular(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return nil, errors.New("is a pipe; want a regular file, which can be reread when it changes")
	}
	return os.ReadFile(name)
}

// pathless returns the cause of a file's error, without the path.
func pathless(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
