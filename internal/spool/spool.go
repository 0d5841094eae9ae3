// Package spool keeps the bodies of requests for another try, within one bound of memory for all of them. A
// body is in memory while it is received and sent, compressed while its request waits, and on disk where the
// memory is used up. Package gateway is its user.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrFull is returned for a body that neither memory nor disk has room for.
var ErrFull = errors.New("memory and disk have no room for the request")

// Limits bounds what a spool takes.
type Limits struct {
	Memory int64  // in bytes, of all bodies together; 0: 64 MiB, or a quarter of Go's memory limit if that is less
	Disk   int64  // in bytes; 0: 2 GiB
	Dir    string // of the file; "": os.TempDir()
}

// Spool keeps bodies. It is ready after Configure.
type Spool struct {
	memory budget
	disk   file

	configured sync.Once // removes what killed processes have left
	started    sync.Once // makes the coders
	coders     chan *coder

	unpacked sync.Once
	unpackers
}

// stored is a block of a body that is compressed, in memory or on disk.
type stored struct {
	memory []byte
	disk   extent
}

// Configure sets the bounds. What is kept already stays where it is.
func (s *Spool) Configure(l Limits) {
	if l.Memory == 0 {
		l.Memory = min(defaultMemory, debug.SetMemoryLimit(-1)/4) // which only reads it
	}
	if l.Disk == 0 {
		l.Disk = defaultDisk
	}
	s.memory.limit.Store(l.Memory)
	s.disk.configure(l.Disk, l.Dir)
	s.configured.Do(func() { removeLeftovers(l.Dir) })
}

// Used returns how many bytes of bodies are in memory and on disk.
func (s *Spool) Used() (memory, disk int64) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.memory.used.Load(), s.disk.end
}

// Reserve takes bytes of the memory for what has the content of a body besides; false: its share is used up.
// What waits leaves room for what arrives.
func (s *Spool) Reserve(n int64, waits bool) bool {
	if waits {
		return s.memory.take(n, waitingShare)
	}
	return s.memory.take(n, receivedShare)
}

// Return returns what Reserve has taken.
func (s *Spool) Return(n int64) { s.memory.give(n) }

// File returns the file; nil: nothing has gone to disk.
func (s *Spool) File() *os.File {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.file
}

// start makes the coders for the first body: as many as can run, since each takes almost a megabyte.
func (s *Spool) start() {
	s.started.Do(func() {
		n := runtime.GOMAXPROCS(0)
		s.coders = make(chan *coder, n)
		for range n {
			s.coders <- new(coder)
		}
	})
}

// buffer returns a buffer of the budget's memory; nil: its share is used up.
func (s *Spool) buffer(size int, share int64) *Buffer {
	b := NewBuffer(size)
	if !s.memory.take(int64(cap(b.Bytes)), share) {
		b.Release()
		return nil
	}
	b.budget = &s.memory
	return b
}

// store compresses a block of a body and keeps it. With always, it stays in memory where the disk does not
// take it.
func (s *Spool) store(plain []byte, always bool) (stored, error) {
	s.start()
	room := NewBuffer(len(plain) / 2)
	defer room.Release()
	c := <-s.coders
	small := c.compress(plain, room.Bytes)
	s.coders <- c
	n := int64(len(small))
	if !s.memory.take(n, waitingShare) {
		at, err := s.disk.write(small)
		switch {
		case err == nil:
			return stored{disk: at}, nil
		case always:
			s.memory.force(n)
		case !s.memory.take(n, receivedShare):
			return stored{}, fmt.Errorf("%w: %w", ErrFull, err)
		}
	}
	return stored{memory: slices.Clip(append([]byte(nil), small...))}, nil
}

// restore returns the content of a block, which has size bytes.
func (s *Spool) restore(c stored, size int) (*Buffer, error) {
	s.start()
	small := c.memory
	if small == nil {
		room := NewBuffer(int(c.disk.size))
		defer room.Release()
		small = room.Bytes[:c.disk.size]
		if err := s.disk.read(small, c.disk); err != nil {
			return nil, err
		}
	}
	buf := NewBuffer(size)
	buf.budget = &s.memory
	s.memory.force(int64(cap(buf.Bytes)))
	buf.Bytes = buf.Bytes[:size]
	coder := <-s.coders
	err := coder.expand(small, buf.Bytes)
	s.coders <- coder
	if err != nil {
		buf.Release()
		return nil, err
	}
	return buf, nil
}

// drop frees a stored block.
func (s *Spool) drop(c stored) {
	if c.disk.size > 0 {
		s.disk.free(c.disk)
		return
	}
	s.memory.give(int64(len(c.memory)))
}

// defaultMemory is the bound of Configure that asks for none.
const defaultMemory = 64 << 20

// budget is the bound on the memory of all bodies.
type budget struct{ limit, used atomic.Int64 }

// The shares of a budget, in quarters. What waits leaves room for what arrives, and what arrives for bodies on
// their way to and from the disk.
const (
	waitingShare  = 2
	receivedShare = 3
	passingShare  = 4
)

// leastPassing is what passes in any case, however small the budget is.
const leastPassing = 1 << 20

// take takes bytes, if no more than the share is in use then.
func (b *budget) take(n int64, share int64) bool {
	most := b.limit.Load() / 4 * share
	if share == passingShare {
		most = max(most, leastPassing)
	}
	if b.used.Add(n) <= most {
		return true
	}
	b.used.Add(-n)
	return false
}

// force takes bytes in any case.
func (b *budget) force(n int64) { b.used.Add(n) }

// give returns bytes.
func (b *budget) give(n int64) { b.used.Add(-n) }

// initialRoom is how much memory a request gets for announcing its length. Once initialBytes of it have come, there is
// room for a block: a server has that many of a large body when it has read the header, and the rest in one read.
const (
	initialRoom   = 8 << 10
	initialBytes  = 2 << 10
	initialBlocks = 16
)

// Read reads a body whole. size is its announced length, 0 or -1: unknown. A body of more than limit bytes is
// ErrTooLarge, one that nothing has room for ErrFull.
func (s *Spool) Read(src io.Reader, size, limit int64) (*Body, error) {
	return s.read(src, size, limit, false)
}

// ReadForWait is Read for a request that is going to wait. Its body is compressed while it arrives, if that is
// worth it, and takes the memory of one block beside what is left of it.
func (s *Spool) ReadForWait(src io.Reader, size, limit int64) (*Body, error) {
	return s.read(src, size, limit, size >= compressFrom)
}

func (s *Spool) read(src io.Reader, size, limit int64, stores bool) (*Body, error) {
	if size > limit {
		return nil, ErrTooLarge
	}
	b := &Body{spool: s}
	b.blocks = b.first[:0]
	if size > blockSize {
		b.blocks = make([]block, 0, min((size-1)/blockSize+1, initialBlocks))
	}
	r := receiver{body: b, announced: int(size), stores: stores}
	err := r.receive(src, int(limit))
	if err == nil {
		err = r.finish()
	}
	if r.last != nil {
		r.last.Release()
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// receiver receives a body: into memory, and once that is used up block by block into the store.
type receiver struct {
	body      *Body
	announced int     // the body's size; not above 0: unknown
	last      *Buffer // the block that is being received; nil: none
	stores    bool    // the blocks are stored; false: they are in memory
}

// receive reads up to the end.
func (r *receiver) receive(src io.Reader, limit int) error {
	for r.announced <= 0 || r.body.size < r.announced {
		if err := r.makeRoom(); err != nil {
			return err
		}
		n, err := src.Read(r.last.room())
		r.last.Bytes = r.last.Bytes[:len(r.last.Bytes)+n]
		r.body.size += n
		switch {
		case r.body.size > limit:
			return ErrTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// makeRoom makes sure that the last block has room.
func (r *receiver) makeRoom() error {
	if r.last != nil && len(r.last.Bytes) == blockSize {
		if err := r.endBlock(); err != nil || r.last != nil {
			return err
		}
	}
	size := r.room()
	if r.last != nil && len(r.last.room()) > 0 && (r.announced <= 0 || cap(r.last.Bytes) >= size) {
		return nil
	}
	larger, err := r.buffer(size)
	if err != nil {
		return err
	}
	if r.last != nil {
		larger.Bytes = append(larger.Bytes, r.last.Bytes...)
		r.last.Release()
	}
	r.last = larger
	return nil
}

// room returns how large the last block's buffer is to be now.
func (r *receiver) room() int {
	size := blockSize
	if r.announced > 0 {
		size = min(size, r.announced-r.body.size/blockSize*blockSize)
	}
	if r.body.size < initialBytes {
		size = min(size, initialRoom)
	}
	return size
}

// buffer returns a buffer. Once the memory for what is received is used up, the body makes room itself.
func (r *receiver) buffer(size int) (*Buffer, error) {
	s := r.body.spool
	if !r.stores {
		if b := s.buffer(size, receivedShare); b != nil {
			return b, nil
		}
		if err := r.beginStoring(); err != nil {
			return nil, err
		}
	}
	if b := s.buffer(size, passingShare); b != nil {
		return b, nil
	}
	return nil, ErrFull
}

// beginStoring stores the blocks so far.
func (r *receiver) beginStoring() error {
	r.stores = true
	blocks := r.body.blocks
	for i, part := range blocks {
		small, err := r.store(part.plain)
		if err != nil {
			return err
		}
		blocks[i] = block{stored: small}
		part.plain.Release()
	}
	return nil
}

func (r *receiver) store(b *Buffer) (stored, error) {
	return r.body.spool.store(b.Bytes, false)
}

// endBlock adds the last block to the body. If it is stored, its buffer is used for the next one.
func (r *receiver) endBlock() error {
	if !r.stores {
		r.body.blocks = append(r.body.blocks, block{plain: r.last})
		r.last = nil
		return nil
	}
	small, err := r.store(r.last)
	if err != nil {
		return err
	}
	r.body.blocks = append(r.body.blocks, block{stored: small})
	r.last.Bytes = r.last.Bytes[:0]
	return nil
}

// finish adds what is left.
func (r *receiver) finish() error {
	if r.last != nil && len(r.last.Bytes) > 0 {
		if err := r.endBlock(); err != nil {
			return err
		}
	}
	return nil
}
