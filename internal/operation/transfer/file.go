package transfer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/store"
)

// File is a file with one conversation that can be appended to. [File.Close]
// completes it, so that [Read] accepts it. Its methods are for one goroutine.
type File struct {
	file  *os.File
	talk  Conversation
	size  int64 // in bytes, without the last line of a complete file
	added bool  // the file has no last line
}

// OpenFile opens a file for reading and appending. It creates the file, readable by its owner only, and its
// directory if they do not exist; id is for a new conversation. It ignores a line that was cut off when its writer
// died. Other damage is an error with its line and leaves the file as it is.
func OpenFile(name, id string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name) // reading a pipe would never end
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, talk: Conversation{ID: id}}
	locked := disk.LockFile(file) // another process may be appending to the same conversation
	if errors.Is(locked, disk.ErrLocked) {
		locked = errors.New("another process is writing to it")
	}
	if err := errors.Join(locked, f.read(), disk.SyncDir(filepath.Dir(name))); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return f, nil
}

func (f *File) read() error {
	data, err := io.ReadAll(f.file)
	if err != nil || len(data) == 0 {
		return err
	}
	if bytes.HasPrefix(data, gzipMagic) {
		return errors.New("the file is compressed; decompress it with gunzip")
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	var done []Conversation
	r := &reader{yield: func(c Conversation, _ error) bool { done = append(done, c); return true }}
	for line := range bytes.Lines(data[:end]) {
		r.n++
		err := r.take(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil && len(done) > 0 && r.open {
			err = errors.New("the file has more than one conversation")
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.n, err)
		}
		if r.open {
			f.size += int64(len(line))
		}
	}
	if !cutOff(data[end:]) {
		return fmt.Errorf("line %d: not a line of a conversation file", r.n+1)
	}
	f.added = r.open
	for _, c := range append(done, r.now) {
		if c.ID != "" {
			f.talk = c
		}
	}
	return nil
}

// cutOff reports whether an incomplete line is the beginning of one of ours. Some file systems leave zeros behind
// after a crash.
func cutOff(rest []byte) bool {
	for _, begin := range []string{`{"format":`, `{"conversation":`, `{"end":`} {
		if n := min(len(rest), len(begin)); string(rest[:n]) == begin[:n] {
			return true
		}
	}
	return len(bytes.Trim(rest, "\x00")) == 0
}

// Conversation returns the conversation as read and appended so far.
func (f *File) Conversation() Conversation { return f.talk }

// Append numbers records and appends them, all or none. When it returns, they
// are on the disk. After an error the file may be appended to again.
func (f *File) Append(records ...store.Record) error {
	records = slices.Clone(records)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	var err error
	if f.size == 0 {
		err = e.Encode(header{format, version, time.Now().UTC()})
	}
	for i := range records {
		records[i].N = int64(len(f.talk.Records) + 1 + i)
		err = cmp.Or(err, e.Encode(line{f.talk.ID, records[i]}))
	}
	if err == nil {
		err = f.write(text.Bytes())
	}
	if err != nil {
		return err
	}
	f.size += int64(text.Len())
	f.talk.Records, f.added = append(f.talk.Records, records...), true
	return nil
}

// write replaces everything after the last record, and syncs the file.
func (f *File) write(text []byte) error {
	if err := f.file.Truncate(f.size); err != nil {
		return err
	}
	_, err := f.file.WriteAt(text, f.size)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return errors.Join(err, f.file.Truncate(f.size))
	}
	return nil
}

// Name returns the file's name.
func (f *File) Name() string { return f.file.Name() }

// Close completes the file and closes it.
func (f *File) Close() error {
	var err error
	if f.added {
		last, _ := json.Marshal(footer{total{1, len(f.talk.Records)}})
		err = f.write(append(last, '\n'))
	}
	return errors.Join(err, disk.Unlock(f.file))
}

// Remove closes the file and deletes it.
func (f *File) Remove() error { return errors.Join(disk.Unlock(f.file), os.Remove(f.file.Name())) }
