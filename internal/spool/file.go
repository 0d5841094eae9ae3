package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// defaultDisk is the bound of Configure that asks for none.
const defaultDisk = 2 << 30

// fileName begins the names of the files. They have one for a moment only.
const fileName = "ridethrough-spool-"

var errDiskBound = errors.New("the spool's bound on the disk is reached")

// file keeps bytes on disk. It has no name and ends with the process.
type file struct {
	mu    sync.Mutex
	dir   string
	limit int64
	file  *os.File // nil: nothing has been written
	end   int64
	gaps  []extent // free places before end, in order
}

// extent is a place in the file.
type extent struct{ at, size int64 }

// configure sets the bound and, for a file that is yet to be made, its folder.
func (f *file) configure(limit int64, dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit, f.dir = limit, dir
}

// write writes bytes. After an error it leaves nothing behind.
func (f *file) write(p []byte) (extent, error) {
	to, e, err := f.allocate(int64(len(p)))
	if err != nil {
		return extent{}, err
	}
	if _, err := to.WriteAt(p, e.at); err != nil {
		f.free(e)
		return extent{}, err
	}
	return e, nil
}

// read reads what has been written.
func (f *file) read(p []byte, e extent) error {
	f.mu.Lock()
	from := f.file
	f.mu.Unlock()
	_, err := from.ReadAt(p, e.at)
	return err
}

// allocate returns a place: in the first gap that is large enough, or at the end.
func (f *file) allocate(n int64) (to *os.File, e extent, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		if f.file, err = os.CreateTemp(f.dir, fileName+"*"); err != nil {
			return nil, extent{}, err
		}
		_ = os.Remove(f.file.Name()) // it lives as long as it is open
	}
	i := slices.IndexFunc(f.gaps, func(g extent) bool { return g.size >= n })
	switch {
	case i < 0 && f.end+n > f.limit:
		return nil, extent{}, errDiskBound
	case i < 0:
		e = extent{f.end, n}
		f.end += n
		return f.file, e, nil
	}
	e = extent{f.gaps[i].at, n}
	if f.gaps[i].at, f.gaps[i].size = e.at+n, f.gaps[i].size-n; f.gaps[i].size == 0 {
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	return f.file, e, nil
}

// free frees a place and joins it with the gaps beside it. An empty end is cut off.
func (f *file) free(e extent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.gaps, e, func(a, b extent) int { return int(a.at - b.at) })
	if i < len(f.gaps) && e.at+e.size == f.gaps[i].at {
		e.size += f.gaps[i].size
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	if i > 0 && f.gaps[i-1].at+f.gaps[i-1].size == e.at {
		i--
		e = extent{f.gaps[i].at, f.gaps[i].size + e.size}
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	if e.at+e.size == f.end {
		f.end = e.at
		_ = f.file.Truncate(f.end) // it only frees space
		return
	}
	f.gaps = slices.Insert(f.gaps, i, e)
}

// leftoverAge is the age from which a file that has a name still belongs to no process: one was killed between
// making it and removing its name.
const leftoverAge = time.Minute

// removeLeftovers removes the files that killed processes have left in a folder.
func removeLeftovers(dir string) {
	if dir == "" {
		dir = os.TempDir()
	}
	names, _ := filepath.Glob(filepath.Join(dir, fileName+"*")) // its only error is one of the pattern
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftoverAge {
			_ = os.Remove(name) // another user's stays
		}
	}
}

// Record is an answer that is kept while it arrives. One goroutine appends to it, and others read what is there.
// A block that is full is compressed, in memory or on disk.
type Record struct {
	spool *Spool

	mu      sync.Mutex
	blocks  []stored // that are full
	last    *Buffer  // the block that is being filled; nil: none
	readers int      // of a block
	over    bool     // released
}

// NewRecord returns an empty record.
func (s *Spool) NewRecord() *Record { return &Record{spool: s} }

// Append appends a copy of p. If it fails, there is no room, and the record is of no use.
func (r *Record) Append(p []byte) error {
	for len(p) > 0 {
		if err := r.makeRoom(); err != nil {
			return err
		}
		r.mu.Lock()
		n := copy(r.last.room(), p)
		r.last.Bytes = r.last.Bytes[:len(r.last.Bytes)+n]
		r.mu.Unlock()
		p = p[n:]
	}
	return nil
}

// makeRoom makes sure that the last block has room.
func (r *Record) makeRoom() error {
	size, last := initialRoom, r.last
	switch {
	case last == nil:
	case len(last.Bytes) == blockSize:
		return r.endBlock()
	case len(last.room()) > 0:
		return nil
	default:
		size = min(4*cap(last.Bytes), blockSize)
	}
	larger, err := r.buffer(size)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last != nil {
		larger.Bytes = append(larger.Bytes, last.Bytes...)
		last.Release()
	}
	r.last = larger
	return nil
}

// buffer returns an empty buffer.
func (r *Record) buffer(size int) (*Buffer, error) {
	for _, share := range []int64{waitingShare, passingShare} {
		if b := r.spool.buffer(size, share); b != nil {
			return b, nil
		}
	}
	return nil, ErrFull
}

// endBlock stores the last block, which is full, and begins another.
func (r *Record) endBlock() error {
	small, err := r.spool.store(r.last.Bytes, false)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks = append(r.blocks, small)
	r.last.Bytes = r.last.Bytes[:0]
	return nil
}

// ReadAt copies what there is from an offset on; 0: nothing so far. It fails after Release.
func (r *Record) ReadAt(p []byte, at int) (int, error) {
	r.mu.Lock()
	i := at / blockSize
	switch {
	case r.over:
		r.mu.Unlock()
		return 0, os.ErrClosed
	case i >= len(r.blocks):
		defer r.mu.Unlock()
		if r.last == nil {
			return 0, nil
		}
		return copy(p, r.last.Bytes[at-len(r.blocks)*blockSize:]), nil
	}
	block := r.blocks[i]
	r.readers++
	r.mu.Unlock()
	defer r.letGo()
	buf, err := r.spool.restore(block, blockSize)
	if err != nil {
		return 0, err
	}
	defer buf.Release()
	return copy(p, buf.Bytes[at%blockSize:]), nil
}

// letGo ends the reading of a block.
func (r *Record) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers--
	r.freeUnread()
}

// Release frees the record. No Append may follow.
func (r *Record) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.freeUnread()
}

// freeUnread frees a record that is released and of which no block is read. mu is held.
func (r *Record) freeUnread() {
	if !r.over || r.readers > 0 {
		return
	}
	for _, block := range r.blocks {
		r.spool.drop(block)
	}
	if r.last != nil {
		r.last.Release()
	}
	r.blocks, r.last = nil, nil
}
