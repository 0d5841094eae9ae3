package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrOther says that a file is there already, and holds something else.
var ErrOther = errors.New("the file is there already and holds something else")

// Save writes a conversation into a file of its own in a directory, named after
// its id, and gives the path. When it returns without an error, the file is on
// the disk and what can be read from it is the conversation. A file that is
// there already is replaced if it holds the same conversation, or the beginning
// of it.
func Save(dir string, c Conversation, now time.Time) (path string, err error) {
	path = filepath.Join(dir, c.ID+".jsonl.gz")
	if c.ID == "" || filepath.Base(c.ID) != c.ID {
		return path, fmt.Errorf("%q is no name for a file", c.ID)
	}
	want, err := text(c)
	if err != nil {
		return path, err
	}
	switch there, err := load(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return path, fmt.Errorf("%w: %s: %w", ErrOther, path, err)
	case !bytes.HasPrefix(want, there):
		return path, fmt.Errorf("%w: %s", ErrOther, path)
	}
	if err := replace(path, c, now); err != nil {
		return path, err
	}
	is, err := load(path)
	if err == nil && !bytes.Equal(is, want) {
		err = errors.New("it does not read as what was written")
	}
	if err != nil {
		return path, fmt.Errorf("%s: %w", path, err)
	}
	return path, nil
}

// text returns a conversation's lines.
func text(c Conversation) ([]byte, error) {
	var b bytes.Buffer
	w := newWriter(&b)
	err := errors.Join(w.Add(c), w.to.Flush())
	return b.Bytes(), err
}

// load reads the only conversation of a file, as text gives it.
func load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var one Conversation
	for c, err := range Read(f) {
		if err != nil {
			return nil, err
		}
		if one.ID != "" {
			return nil, errors.New("there are several conversations in it")
		}
		one = c
	}
	return text(one)
}

// replace writes a file that is there in full or not at all.
func replace(path string, c Conversation, now time.Time) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}()
	z := gzip.NewWriter(f)
	w, err := NewWriter(z, now)
	if err != nil {
		return err
	}
	for _, step := range []func() error{func() error { return w.Add(c) }, w.Close, z.Close, f.Sync, f.Close} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}
