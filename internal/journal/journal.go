// Package journal keeps a conversation in a file: the events that last, one
// line of JSON each, every append on the disk before it returns. It is for one
// process and one conversation at a time; the same lines go over the wire.
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// File is a conversation's file. Its methods are for one goroutine.
type File struct {
	file   *os.File
	turn   string // the one that new events belong to
	seq    int64
	size   int64        // in bytes, as far as it is good
	events []turn.Event // that were there when it was opened
}

// Open opens a file for reading and appending, and makes it, with the folder
// it is in, where it is not there: readable for nobody else. A last line that
// was cut off as its writer died is taken away; anything else that cannot be
// read is an error with its line, and stays as it is: it may be somebody's
// who has given the wrong name.
func Open(name string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name) // a pipe would be read for ever
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := errors.Join(f.lock(), f.read(), enter(filepath.Dir(name))); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return f, nil
}

// enter makes last that a file is in its folder.
func enter(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, os.ErrPermission) {
		return err // some file systems cannot
	}
	return nil
}

// read takes in what is there.
func (f *File) read() error {
	data, err := io.ReadAll(f.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	n := 0
	for line := range bytes.Lines(data[:whole]) {
		n++
		if err := f.take(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if !ours(data[whole:]) {
		return fmt.Errorf("line %d: it is no event of a conversation", n+1)
	}
	f.size = int64(whole)
	return f.cut()
}

// ours tells whether a line without an end is what is left of an event: all of
// them begin alike. Zeros are what some file systems leave of a crash.
func ours(rest []byte) bool {
	begin := []byte(`{"v":1,"seq":`)
	n := min(len(rest), len(begin))
	return bytes.Equal(rest[:n], begin[:n]) || len(bytes.Trim(rest, "\x00")) == 0
}

// cut takes away what stands behind the last good event.
func (f *File) cut() error {
	if err := f.file.Truncate(f.size); err != nil {
		return err
	}
	_, err := f.file.Seek(f.size, io.SeekStart)
	return err
}

// take takes in a line.
func (f *File) take(line []byte) error {
	var e wire.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Seq != f.seq+1 {
		return fmt.Errorf("event %d where %d should be", e.Seq, f.seq+1)
	}
	t, ok := e.Body.(wire.Turn)
	if !ok || !turn.Kept(t.Event) {
		return fmt.Errorf("%q is no event of a conversation", wire.Type(e.Body))
	}
	if start, ok := t.Event.(turn.Start); ok {
		f.turn = start.ID
	}
	f.seq, f.events = e.Seq, append(f.events, t.Event)
	return nil
}

// Events gives what was there when the file was opened.
func (f *File) Events() []turn.Event { return f.events }

// Turn gives the id of the last turn; "": there is none.
func (f *File) Turn() string { return f.turn }

// Append makes events last, all or none: it has the form of agent.Agent.Keep.
// After an error the file is as it was, and may be appended to again.
func (f *File) Append(_ context.Context, events ...turn.Event) error {
	var lines bytes.Buffer
	for i, e := range events {
		if start, ok := e.(turn.Start); ok {
			f.turn = start.ID
		}
		line, err := json.Marshal(wire.Event{
			Seq: f.seq + 1 + int64(i), Time: time.Now(), Body: wire.Turn{Ref: wire.Ref{TurnID: f.turn}, Event: e},
		})
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	_, err := f.file.Write(lines.Bytes())
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return errors.Join(err, f.cut())
	}
	f.seq, f.size = f.seq+int64(len(events)), f.size+int64(lines.Len())
	return nil
}

// Name gives the file's name.
func (f *File) Name() string { return f.file.Name() }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Remove closes the file and takes it away.
func (f *File) Remove() error { return errors.Join(f.file.Close(), os.Remove(f.file.Name())) }
