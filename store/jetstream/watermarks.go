package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// watermarks stores the highest acknowledged sequence number of each stream,
// beside the streams. A server that finds a damaged message after a crash silently
// deletes it and all that follow; the watermarks show that.
//
// They are written with every acknowledgement and never synced: a crash of this
// process loses none, a power failure those of the last half minute.
type watermarks struct {
	mu       sync.Mutex
	file     *os.File
	losses   string // name of the file that reports losses until an operator deletes it
	acked    [2]uint64
	writeErr error // of the last write
}

// watermarked returns the streams, in the order of their watermarks.
func watermarked() []string { return []string{logStream, jobStream} }

func openWatermarks(dir string) (*watermarks, error) {
	f, err := os.OpenFile(filepath.Join(dir, "watermarks"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	w := &watermarks{file: f, losses: filepath.Join(dir, "losses")}
	var stored [16]byte
	if _, err := f.ReadAt(stored[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	for i := range w.acked {
		w.acked[i] = binary.LittleEndian.Uint64(stored[8*i:])
	}
	return w, nil
}

// raise notes an acknowledged sequence number.
func (w *watermarks) raise(stream string, seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(watermarked(), stream); i >= 0 && seq > w.acked[i] {
		w.set(i, seq)
	}
}

func (w *watermarks) set(i int, seq uint64) {
	w.acked[i] = seq
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], seq)
	_, w.writeErr = w.file.WriteAt(data[:], int64(8*i))
}

// checkWatermarks reports what the streams have lost since they were last open.
func (b *backend) checkWatermarks(ctx context.Context) error {
	for i, name := range watermarked() {
		stream, err := b.js.Stream(ctx, name)
		if err != nil {
			return translate(ctx, err)
		}
		if err := b.server.watermarks.check(i, stream.CachedInfo().State.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// check compares the last sequence number of a stream with its watermark, and writes a loss down.
func (w *watermarks) check(i int, last uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last >= w.acked[i] {
		return nil
	}
	f, err := os.OpenFile(w.losses, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s: acknowledged messages %d to %d of stream %s are missing\n",
		time.Now().UTC().Format(time.RFC3339), last+1, w.acked[i], watermarked()[i])
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	w.set(i, last)
	return w.writeErr
}

// warnings returns the losses that the file reports.
func (w *watermarks) warnings() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := os.ReadFile(w.losses)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		all = append(all, err.Error())
	}
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.TrimSpace(line)+" (delete "+w.losses+" to end this warning)")
	}
	if w.writeErr != nil {
		all = append(all, "lost messages would not be noticed: "+w.writeErr.Error())
	}
	return all
}

func (w *watermarks) close() error { return w.file.Close() }
