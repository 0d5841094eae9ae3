package spool

import (
	"os"
	"sync"
)

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
