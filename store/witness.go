package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// witness remembers beside the store how far each stream has come. A server
// that finds a damaged entry after a crash takes away all that stands behind
// it, and says nothing: what is gone would look as if it had never been.
//
// What it remembers is written with every acknowledgement and left to the
// system to bring to the disk: a crash of this process loses none of it, a
// power failure the last half minute.
type witness struct {
	mu     sync.Mutex
	marks  *os.File
	losses string // the file that says what was lost, until somebody takes it away
	seen   [2]uint64
	err    error // of the last write
}

// places are where the streams have their marks.
func places() []string { return []string{logs, turns} }

func newWitness(dir string) (*witness, error) {
	f, err := os.OpenFile(filepath.Join(dir, "marks"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	w := &witness{marks: f, losses: filepath.Join(dir, "losses")}
	var was [16]byte
	if _, err := f.ReadAt(was[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	for i := range w.seen {
		w.seen[i] = binary.LittleEndian.Uint64(was[8*i:])
	}
	return w, nil
}

// saw remembers what a server has acknowledged.
func (w *witness) saw(stream string, seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, name := range places() {
		if name == stream && seq > w.seen[i] {
			w.set(i, seq)
		}
	}
}

func (w *witness) set(i int, seq uint64) {
	w.seen[i] = seq
	var now [8]byte
	binary.LittleEndian.PutUint64(now[:], seq)
	_, w.err = w.marks.WriteAt(now[:], int64(8*i))
}

// compare holds the streams against what was acknowledged, and writes down what
// they have lost.
func (s *store) compare(ctx context.Context) error {
	w := s.own.witness
	for i, name := range places() {
		stream, err := s.js.Stream(ctx, name)
		if err != nil {
			return explain(ctx, err)
		}
		if err := w.hold(i, stream.CachedInfo().State.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// hold compares one stream with its mark.
func (w *witness) hold(i int, last uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last >= w.seen[i] {
		return nil
	}
	f, err := os.OpenFile(w.losses, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s: entries %d to %d of %s, which had been acknowledged, were not in the store any more\n",
		time.Now().UTC().Format(time.RFC3339), last+1, w.seen[i], places()[i])
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	w.set(i, last)
	return w.err
}

// trouble tells what was lost, as long as the file that says so is there.
func (w *witness) trouble() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said, err := os.ReadFile(w.losses)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		all = append(all, err.Error())
	}
	for line := range strings.Lines(string(said)) {
		all = append(all, strings.TrimSpace(line)+" (take away "+w.losses+" when you have seen to it)")
	}
	if w.err != nil {
		all = append(all, "losses would not be noticed: "+w.err.Error())
	}
	return all
}

func (w *witness) close() error { return w.marks.Close() }
