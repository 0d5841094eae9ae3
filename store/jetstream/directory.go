package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
	"github.com/ridethrough/ridethrough/internal/lockfile"
	"github.com/ridethrough/ridethrough/store"
)

// format is the number of what this version writes: directory, streams, subjects
// and messages. Another number is refused.
const format = 2

// The files of a directory.
const (
	formatName = "format.json" // a formatMark
	dataName   = "store"       // the NATS server's files
	modeName   = "mode"        // format 1 had this in place of a formatMark
)

// formatMark describes the store in a directory.
type formatMark struct {
	Format int `json:"format"`
}

// directory is one that this process has locked. A NATS server does not notice a second one on its directory.
type directory struct{ lock *os.File }

// openDirectory creates and locks a directory, and checks its format.
func openDirectory(dir string) (directory, error) {
	if dir == "" {
		return directory{}, fmt.Errorf("%w: no directory", store.ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return directory{}, err
	}
	d, err := lockDirectory(dir, os.O_CREATE)
	if err != nil {
		return directory{}, err
	}
	if err := checkFormat(dir); err != nil {
		return directory{}, errors.Join(err, d.unlock())
	}
	return d, nil
}

// lockDirectory locks a directory. The flag is that of [lockfile.Acquire].
func lockDirectory(dir string, flag int) (directory, error) {
	f, err := lockfile.Acquire(dir, flag)
	if errors.Is(err, lockfile.ErrLocked) {
		err = fmt.Errorf("%w: %s, by process %d", store.ErrInUse, dir, lockfile.Holder(dir))
	}
	return directory{f}, err
}

func (d directory) unlock() error { return d.lock.Close() }

// checkFormat marks a new directory, and refuses the store of another version.
func checkFormat(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, formatName))
	switch {
	case errors.Is(err, os.ErrNotExist) && holdsFormat1(dir):
		return fmt.Errorf("%w: %s was written by an earlier version of ridethrough, which this version cannot read; "+
			"open it with the earlier version, or move it away to start with an empty store", ErrFormat, dir)
	case errors.Is(err, os.ErrNotExist):
		return writeMark(dir, formatMark{Format: format})
	case err != nil:
		return err
	}
	var mark formatMark
	if err := json.Unmarshal(text, &mark); err != nil {
		return fmt.Errorf("%w: %s in %s cannot be decoded: %w", ErrFormat, formatName, dir, err)
	}
	if mark.Format != format {
		return fmt.Errorf("%w: %s has format %d, and this version of ridethrough reads only format %d; "+
			"open it with the version that wrote it, or move it away to start with an empty store", ErrFormat, dir, mark.Format, format)
	}
	return nil
}

// holdsFormat1 reports whether a directory without a mark holds a store.
func holdsFormat1(dir string) bool { return exists(dir, modeName) || exists(dir, dataName) }

// writeMark writes the mark, so that not even a power failure leaves half of it.
func writeMark(dir string, mark formatMark) error {
	text, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, formatName), append(text, '\n'))
}

// Exists reports whether a directory holds a store, of any format.
func Exists(dir string) bool { return exists(dir, formatName) || exists(dir, modeName) }

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// Remove deletes a directory that holds a store, of any format. It fails with store.ErrInUse while a process
// has the store open. Removing a store that does not exist is no error.
func Remove(dir string) error {
	d, err := lockDirectory(dir, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove store: %w", err)
	}
	defer func() { _ = d.unlock() }() // a file that is gone
	if err := removeAll(dir); err != nil {
		return fmt.Errorf("remove store: %w", err)
	}
	return nil
}

// removeAll deletes the lock and the mark last: a process that opens the store meanwhile finds it in use, and
// what an interrupted removal leaves is still known as a store.
func removeAll(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if !Exists(dir) && len(files) > 1 {
		return fmt.Errorf("%w: %s holds other files", store.ErrInvalid, dir)
	}
	last := []string{formatName, modeName, lockfile.Name}
	for _, f := range files {
		if !slices.Contains(last, f.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, f.Name())))
		}
	}
	if err != nil {
		return err
	}
	for _, name := range last[:2] {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	return errors.Join(err, os.RemoveAll(dir))
}
