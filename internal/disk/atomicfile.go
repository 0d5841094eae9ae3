package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the content of a file; see [Replace].
func Write(path string, content []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Replace replaces the content of a file with what write writes, in the directory of the file, which must
// exist. The file keeps its permissions; a new one is for this user only. A symbolic link stays, and the file
// that it leads to is replaced. Anything but a regular file is refused.
func Replace(path string, write func(io.Writer) error) error {
	path, mode, err := target(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(fill(f, mode, write), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// target returns the path of the file to replace, behind any links, and its permissions.
func target(path string) (string, fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", 0, err
		}
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, 0o600, nil
	case err != nil:
		return "", 0, err
	case !info.Mode().IsRegular():
		return "", 0, fmt.Errorf("%s is not a regular file", path)
	}
	return path, info.Mode().Perm(), nil
}

// fill writes a file and syncs it.
func fill(f *os.File, mode fs.FileMode, write func(io.Writer) error) error {
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return f.Sync()
}

// SyncDir syncs a directory, so that a file that is new in it survives a power failure. Where that is not
// possible, it does nothing.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		return nil // some file systems cannot, and some directories may not be read
	}
	return err
}
