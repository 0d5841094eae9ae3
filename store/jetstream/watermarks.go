package jetstream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
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
	acked    [2]uint64
	writeErr error // of the last write
}

// watermarked returns the streams, in the order of their watermarks.
func watermarked() []string { return []string{logStream, jobStream} }

const watermarksName = "watermarks"

func openWatermarks(dir string) (*watermarks, error) {
	f, err := os.OpenFile(filepath.Join(dir, watermarksName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	w := &watermarks{file: f}
	stored := make([]byte, len(w.encode()))
	n, err := f.ReadAt(stored, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	for i := range w.acked {
		w.acked[i] = binary.LittleEndian.Uint64(stored[8*i:])
	}
	if n == len(stored) && !bytes.Equal(w.encode(), stored) { // earlier versions wrote no checksum
		w.acked = [2]uint64{}
	}
	return w, nil
}

// encode returns the watermarks with a checksum.
func (w *watermarks) encode() []byte {
	var data []byte
	for _, seq := range w.acked {
		data = binary.LittleEndian.AppendUint64(data, seq)
	}
	return binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
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
	_, w.writeErr = w.file.WriteAt(w.encode(), 0)
}

// of returns the highest acknowledged sequence number of a stream.
func (w *watermarks) of(stream string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked[slices.Index(watermarked(), stream)]
}

// lower sets the watermark of a stream to what it has after a loss.
func (w *watermarks) lower(i int, last uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(i, last)
}

// checkWatermarks notes what the streams have lost although their files seemed whole.
func (b *backend) checkWatermarks(ctx context.Context) error {
	w := b.server.watermarks
	for i, name := range watermarked() {
		stream, err := b.js.Stream(ctx, name)
		if err != nil {
			return translate(ctx, err)
		}
		last, acked := stream.CachedInfo().State.LastSeq, w.of(name)
		if last >= acked {
			continue
		}
		lost := store.Loss{Noticed: time.Now().UTC(), Jobs: name == jobStream, First: last + 1, Last: acked, Messages: acked - last}
		if err := addLosses(b.server.capacity.dir, []store.Loss{lost}); err != nil {
			return err
		}
		w.lower(i, last)
	}
	return nil
}

// failure returns the error of the last write.
func (w *watermarks) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeErr
}

func (w *watermarks) close() error { return w.file.Close() }
