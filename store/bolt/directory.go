package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/store"
)

// fileName is the file of a directory that has everything. It is there once the store has been opened.
const fileName = "conversations.db"

// earlier are files that a directory of an earlier version has.
func earlier() []string { return []string{"format.json", "mode", "store"} }

// openDirectory creates and locks a directory, and refuses that of an earlier version.
func openDirectory(dir string) (*os.File, error) {
	if dir == "" {
		return nil, fmt.Errorf("%w: no directory", store.ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := lockDirectory(dir, os.O_CREATE)
	if err == nil && !exists(dir, fileName) && isEarlier(dir) {
		err = fmt.Errorf("%w: %s was written by an earlier version of ridethrough; "+
			"run `ridethrough export` of that version, move the directory away, and run `ridethrough import` of this one", ErrFormat, dir)
		err = errors.Join(err, disk.Unlock(f))
	}
	return f, err
}

// lockDirectory locks a directory. The flag is that of [disk.Lock].
func lockDirectory(dir string, flag int) (*os.File, error) {
	f, err := disk.Lock(dir, flag)
	if errors.Is(err, disk.ErrLocked) {
		err = fmt.Errorf("%w: %s, by process %d", store.ErrInUse, dir, disk.LockHolder(dir))
	}
	return f, err
}

// isEarlier reports whether a directory holds the store of an earlier version.
func isEarlier(dir string) bool {
	return slices.ContainsFunc(earlier(), func(name string) bool { return exists(dir, name) })
}

// Exists reports whether a directory holds a store, of any format.
func Exists(dir string) bool { return exists(dir, fileName) || isEarlier(dir) }

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// Remove deletes a directory that holds a store, of any format. It fails with store.ErrInUse while a process
// has the store open. Removing a store that does not exist is no error.
func Remove(dir string) error {
	f, err := lockDirectory(dir, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove store: %w", err)
	}
	defer func() { _ = disk.Unlock(f) }() // a file that is gone
	if err := removeAll(dir); err != nil {
		return fmt.Errorf("remove store: %w", err)
	}
	return nil
}

// removeAll deletes the lock and the store last: a process that opens the store meanwhile finds it in use, and
// what an interrupted removal leaves is still known as a store.
func removeAll(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if !Exists(dir) && len(files) > 1 {
		return fmt.Errorf("%w: %s holds other files", store.ErrInvalid, dir)
	}
	last := append(earlier(), fileName)
	for _, f := range files {
		if f.Name() != disk.LockName && !slices.Contains(last, f.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, f.Name())))
		}
	}
	if err != nil {
		return err
	}
	for _, name := range last {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	return errors.Join(err, os.RemoveAll(dir))
}
