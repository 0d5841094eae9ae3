// Package spool keeps the bodies of requests for another try, within one bound of memory for all of them. A
// body is in memory while it is received and sent, compressed while its request waits, and on disk where the
// memory is used up. Package gateway is its user.
package spool

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
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

// restore returns the content of a block of so many bytes.
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
