package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
)

// ErrOther means that the file exists with other content.
var ErrOther = errors.New("the file exists with other content")

// Save writes a conversation to the file ID.jsonl.gz in a directory and returns the
// path. Without an error the file is on disk and was read back. An existing file is
// replaced only if it holds a prefix of the conversation.
func Save(dir string, c Conversation, now time.Time) (path string, err error) {
	path = filepath.Join(dir, c.ID+".jsonl.gz")
	if c.ID == "" || filepath.Base(c.ID) != c.ID {
		return path, fmt.Errorf("%q is not a file name", c.ID)
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
	got, err := load(path)
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("the file differs from what was written")
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

// load reads the only conversation of a file, in the form of text.
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
			return nil, errors.New("the file has more than one conversation")
		}
		one = c
	}
	return text(one)
}

// replace writes a file atomically.
func replace(path string, c Conversation, now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(path, func(to io.Writer) error {
		z := gzip.NewWriter(to)
		w, err := NewWriter(z, now)
		if err != nil {
			return err
		}
		for _, step := range []func() error{func() error { return w.Add(c) }, w.Close, z.Close} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}
