package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/disk"
)

// Reservation is a directory that no other process can open, and on which no server runs yet. Its methods must
// not be called concurrently.
type Reservation struct {
	config Config
	server *embeddedServer
}

// Reserve does what [Open] does before it starts the server: it creates and locks the directory, refuses that of
// another version, and measures the disk. A second process gets store.ErrInUse.
func Reserve(c Config) (*Reservation, error) {
	s, err := newServer(c)
	if err != nil {
		return nil, openError(c, err)
	}
	return &Reservation{c, s}, nil
}

// Open opens the store and ends the reservation. If it fails, another process can have the directory.
func (r *Reservation) Open(ctx context.Context) (store.Store, error) {
	if err := r.server.run(ctx, r.config); err != nil {
		return nil, openError(r.config, err)
	}
	b, err := r.server.connect(ctx, r.config)
	if err != nil {
		_ = r.server.stop()
		return nil, openError(r.config, err)
	}
	return b, nil
}

// openError annotates the error of a store that could not be opened. If the disk is full it is store.ErrFull, which
// is waited for: the server's own error does not say so.
func openError(c Config, err error) error {
	free, unknown := disk.Free(c.Dir)
	if errors.Is(err, syscall.ENOSPC) || unknown == nil && free == 0 {
		return fmt.Errorf("open store: %w: the disk has no space left: %w", store.ErrFull, err)
	}
	return fmt.Errorf("open store: %w", err)
}

// Unused reports whether the directory has never held a record or a job, so that a server would have nothing to
// read, to resume or to report. It is false if that is not certain.
func (r *Reservation) Unused() bool {
	dir := r.config.Dir
	for _, name := range []string{watermarksName, headsName} { // what was stored, and may have been lost
		if !isEmpty(os.Stat(filepath.Join(dir, name))) {
			return false
		}
	}
	for _, stream := range watermarked() {
		files, err := os.ReadDir(messageDir(dir, stream))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".blk") && !isEmpty(f.Info()) {
				return false
			}
		}
	}
	return true
}

// isEmpty reports whether a file has no content or does not exist.
func isEmpty(f fs.FileInfo, err error) bool {
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return f.Size() == 0
}

// Health returns what is known of an unused store without its server.
func (r *Reservation) Health(context.Context) (store.Health, error) {
	h := store.Health{Mode: standalone, Replicas: 1}
	r.server.addHealth(&h)
	return h, nil
}

// Close ends the reservation.
func (r *Reservation) Close(context.Context) error { return r.server.release() }
