package spool

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffer is memory that returns to a pool with its last reference.
type Buffer struct {
	Bytes []byte

	refs   atomic.Int32
	class  int     // of its pool; -1: none
	budget *budget // that it is taken from; nil: none
}

// The pools hold buffers of 512 bytes to 128 KiB, four sizes between two powers of
// two, so that at most a fifth is unused.
const (
	smallest = 9 // 512 bytes
	steps    = 4
	largest  = 17 // 128 KiB
)

var pools [(largest-smallest)*steps + 1]sync.Pool

// classOf returns the pool for a size; -1: there is none.
func classOf(size int) int {
	if size <= 1<<smallest {
		return 0
	}
	top := bits.Len(uint(size-1)) - 1 // size is in (1<<top, 2<<top]
	if top >= largest {
		return -1
	}
	quarter := 1 << (top - 2)
	return (top-smallest)*steps + (size-1-1<<top)/quarter + 1
}

// classSize returns the size of a pool's buffers.
func classSize(class int) int {
	if class == 0 {
		return 1 << smallest
	}
	top, step := smallest+(class-1)/steps, (class-1)%steps+1
	return 1<<top + step<<(top-2)
}

// NewBuffer returns an empty buffer with room for size bytes and one reference.
func NewBuffer(size int) *Buffer {
	class := classOf(size)
	if class < 0 {
		b := &Buffer{Bytes: make([]byte, 0, size), class: -1}
		b.refs.Store(1)
		return b
	}
	b, ok := pools[class].Get().(*Buffer)
	if !ok {
		b = &Buffer{Bytes: make([]byte, 0, classSize(class)), class: class}
	}
	b.Bytes = b.Bytes[:0]
	b.refs.Store(1)
	return b
}

// acquire adds a reference.
func (b *Buffer) acquire() { b.refs.Add(1) }

// Release drops a reference. The bytes must not be used after the last one.
func (b *Buffer) Release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	if b.budget != nil {
		b.budget.give(int64(cap(b.Bytes)))
		b.budget = nil
	}
	if b.class >= 0 {
		pools[b.class].Put(b)
	}
}

// room returns what is not used of the buffer.
func (b *Buffer) room() []byte { return b.Bytes[len(b.Bytes):cap(b.Bytes)] }
