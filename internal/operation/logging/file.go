package logging

import (
	"errors"
	"os"
	"path/filepath"
)

// File is a file with bounded size: it is renamed to its name with ".1", replacing the previous one, and a new file
// begins. The first write opens it. Writes must not be concurrent.
type File struct {
	Path   string
	Bound  int64       // in bytes
	Failed func(error) // is called when writes begin to fail; nil: nothing is

	to      *os.File // nil: not open
	size    int64
	failing bool
}

// Write appends lines.
func (f *File) Write(lines []byte) (n int, err error) {
	if err = f.makeRoom(len(lines)); err == nil {
		n, err = f.to.Write(lines)
		f.size += int64(n)
	}
	if err != nil && !f.failing && f.Failed != nil {
		f.Failed(err)
	}
	f.failing = err != nil
	return n, err
}

// Close closes the file, if it is open.
func (f *File) Close() error {
	if f.to == nil {
		return nil
	}
	err := f.to.Close()
	f.to = nil
	return err
}

// makeRoom opens the file, or a new one if it would become too large.
func (f *File) makeRoom(n int) error {
	if err := f.open(); err != nil || f.size == 0 || f.size+int64(n) <= f.Bound {
		return err
	}
	_ = f.Close()
	if err := os.Rename(f.Path, f.Path+".1"); err != nil {
		return err
	}
	return f.open()
}

// open opens the file for appending, unless it is open.
func (f *File) open() error {
	if f.to != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := to.Stat()
	if err != nil {
		return errors.Join(err, to.Close())
	}
	f.to, f.size = to, info.Size()
	return nil
}
