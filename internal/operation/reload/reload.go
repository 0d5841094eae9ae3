// Package reload has values that are read from files, and read again when the files change: keys, certificates
// and tokens, which are replaced under a running server.
package reload

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// Value is a value that is read from files. Its methods may be called concurrently.
type Value[T any] struct {
	parse  func(texts [][]byte) (T, error)
	report func(T, error)
	paths  []string

	mu    sync.Mutex
	value T
	seen  []os.FileInfo // the files when they were last read
}

// New reads a value from the texts of some files. Later reports get the value of changed files, or their error:
// then the value before stays. That covers files that are missing or incomplete while they are replaced.
func New[T any](parse func(texts [][]byte) (T, error), report func(T, error), paths ...string) (*Value[T], error) {
	v := &Value[T]{parse: parse, report: report, paths: paths}
	v.seen = v.state()
	var err error
	v.value, err = v.read()
	return v, err
}

// Get returns the value of the files as they are now, or as they were when they were last valid.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.state()
	if slices.EqualFunc(now, v.seen, Same) {
		return v.value
	}
	value, err := v.read()
	if v.seen = now; err == nil {
		v.value = value
	}
	v.report(value, err)
	return v.value
}

// read reads the files.
func (v *Value[T]) read() (value T, err error) {
	texts := make([][]byte, len(v.paths))
	for i, path := range v.paths {
		if texts[i], err = ReadFile(path); err != nil {
			return value, fmt.Errorf("file %s: %w", path, Pathless(err))
		}
	}
	return v.parse(texts)
}

// state returns the state of all files.
func (v *Value[T]) state() []os.FileInfo {
	all := make([]os.FileInfo, len(v.paths))
	for i, path := range v.paths {
		all[i] = Stat(path)
	}
	return all
}

// Stat returns the state of a file; nil: it does not exist.
func Stat(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// Same reports whether a file is unchanged from one state to another.
func Same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// ReadFile reads a file. It refuses a pipe, which cannot be read again and may block forever.
func ReadFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return nil, errors.New("is a pipe; want a regular file, which can be reread when it changes")
	}
	return os.ReadFile(name)
}

// Pathless returns the cause of a file's error, without the path.
func Pathless(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
