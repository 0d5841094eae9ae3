// Package bolt implements package store in one file of a directory, with go.etcd.io/bbolt. Logs and jobs are in the
// file. Messages and entries are only in memory: one process at a time has the file.
//
// Every acknowledged write is synced. Writes that arrive while another one is synced are committed together, so that
// many writers share an fsync.
//
// Each value has a checksum, and each log says how many records it has. So a damaged page of the file is noticed when
// a log is read, and the rest of the file stays usable: a fault in the memory that maps the file is an error of the
// transaction, not the end of the process.
package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// ErrFormat reports a store that another version has written, in a format that this version cannot read.
var ErrFormat = errors.New("the store has another format")

// Config configures a store in a directory of this machine.
type Config struct {
	Dir string // created if it does not exist, for this user only
	// Reserve is how many bytes new jobs and new conversations must leave free on the disk; 0: 256 MiB. Turns in
	// progress may use them.
	Reserve int64
	Lease   time.Duration // how long a lease lasts without Extend; 0: 30 s
	Log     *slog.Logger  // for damage that is found; nil: none
}

const defaultReserve = 256 << 20

// boltStore is a store in a file.
type boltStore struct {
	config      Config
	lock        *os.File // of the directory
	db          *bbolt.DB
	pageSize    int64
	syncLatency time.Duration
	closed      chan struct{}
	store.KV                // entries are not in the file
	entries     store.Store // its owner
	topics      limit.Topics[store.Message]
	writes      writes
	queue       queue
	losses      losses
}

// Open opens the store in a directory, or creates it. A second process gets store.ErrInUse.
func Open(_ context.Context, c Config) (store.Store, error) {
	c.Reserve, c.Lease = cmp.Or(c.Reserve, defaultReserve), cmp.Or(c.Lease, limit.Lease)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	lock, err := openDirectory(c.Dir)
	if err != nil {
		return nil, openError(c, err)
	}
	entries := store.Memory()
	s := &boltStore{
		config: c, lock: lock, closed: make(chan struct{}), KV: entries, entries: entries,
		writes: writes{wake: make(chan struct{}, 1)}, queue: queue{changed: make(chan struct{}), leases: map[string]*lease{}},
	}
	if err := s.open(); err != nil {
		return nil, openError(c, errors.Join(err, disk.Unlock(lock)))
	}
	s.writes.committer.Go(s.commitAll)
	return s, nil
}

// openError annotates the error of a store that could not be opened. If the disk is full it is store.ErrFull, which
// is waited for.
func openError(c Config, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("open store: %w: the disk has no space left: %w", store.ErrFull, err)
	}
	return fmt.Errorf("open store: %w", err)
}

// open opens the file.
func (s *boltStore) open() (err error) {
	if err := removeUnfinished(s.config.Dir); err != nil {
		return err
	}
	if s.syncLatency, err = syncLatency(s.config.Dir); err != nil {
		return err
	}
	path := filepath.Join(s.config.Dir, fileName)
	if err := create(path); err != nil {
		return err
	}
	if s.db, err = openFile(path, firstMap()); err != nil {
		return err
	}
	s.pageSize = int64(s.db.Info().PageSize) // Info fails while the file is mapped again
	err = s.view(func(file) error { return nil })
	if errors.Is(err, errDamaged) { // another version has other buckets
		err = fmt.Errorf("%w: %s: %w", ErrFormat, path, err)
	}
	if err != nil {
		return errors.Join(err, s.db.Close())
	}
	s.noteLostHeader(path)
	return nil
}

// firstMap returns how many bytes are mapped at first. A writer that needs a larger map waits for all readers, and new
// readers wait for it: one that is copied to a disk that stalls would stop everything. bbolt begins with 32 KiB.
//
// Where the map may be larger than the file it takes only addresses: 16 GiB of 256 TiB, or an eighth of what 32 bits
// have. On Windows bbolt makes the file as large as the map, so there a copy stops writers above 64 MiB.
func firstMap() int {
	if runtime.GOOS == "windows" {
		return 64 << 20
	}
	return min(16<<30, math.MaxInt>>3)
}

// fileStep is by how many bytes the file grows, which takes a sync of its own.
const fileStep = 1 << 20

// openFile opens a file of bbolt, for reading only if nothing is to be mapped beside it. Its own lock guards against
// programs that know no other. Under a limit of the process's addresses (ulimit -v) the map begins small.
//
// The list of free pages is written with each commit, though that is most of a commit after nine tenths of a large file
// were deleted (762 KiB instead of 33): without it, bbolt looks for them at each start. It reads the whole file then,
// where a damaged page ends the process.
func openFile(path string, mapped int) (db *bbolt.DB, err error) {
	options := bbolt.Options{Timeout: time.Millisecond, FreelistType: bbolt.FreelistMapType, ReadOnly: mapped == 0, InitialMmapSize: mapped}
	open := func() error {
		db, err = bbolt.Open(path, 0o600, &options)
		return err
	}
	if err = guard(open); errors.Is(err, syscall.ENOMEM) {
		options.InitialMmapSize = 0
		err = guard(open)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, translate(err))
	}
	db.AllocSize = fileStep
	return db, nil
}

// create creates a file that does not exist. It gets its name when it is complete: neither a full disk nor a power
// failure leaves a part of one.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	unfinished := path + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	db, err := openFile(unfinished, firstMap())
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// Close implements [store.Lifecycle].
func (s *boltStore) Close(ctx context.Context) error {
	if !s.writes.end(s.closed) {
		return nil
	}
	s.writes.committer.Wait()
	s.queue.close()
	s.topics.Close()
	return errors.Join(s.entries.Close(ctx), s.db.Close(), disk.Unlock(s.lock))
}

// begin returns an error if the arguments are invalid, ctx has ended or the store is closed.
func (s *boltStore) begin(ctx context.Context, invalid error) error {
	switch {
	case invalid != nil:
		return invalid
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return nil
	}
}
