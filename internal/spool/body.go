package spool

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
)

// ErrTooLarge is returned for a body beyond the limit.
var ErrTooLarge = errors.New("the request is too large")

// ErrLost is the cause of a request whose body cannot be read back.
var ErrLost = errors.New("the request's body could not be kept")

// blockSize is the size of a body's blocks, except of the last one. What passes through memory on its way to
// and from the disk takes that much, and so does a client that sends slowly.
const blockSize = 64 << 10

// compressFrom is the size of a body that is worth compressing: below it, a
// request costs more for its connection.
const compressFrom = 8 << 10

// Body is a request's body, kept for another try. Its methods may be called concurrently.
type Body struct {
	OnLost func(error) // called when the body cannot be read back; nil: none. Set before the first Open

	spool *Spool

	mu      sync.Mutex
	size    int
	blocks  []block
	first   [1]block // the array of blocks, as most bodies have one
	readers int      // that have begun
	over    bool     // released
	reader  reader   // the first one, as most bodies have no other: one allocation for both
}

// block is a part of a body.
type block struct {
	plain  *Buffer // nil: it is stored
	stored stored
}

// Size returns the body's length in bytes.
func (b *Body) Size() int { return b.size }

// Open returns a reader of the body, for one try. It takes nothing before the first read: a try may be over
// before its request goes out.
func (b *Body) Open() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader.body != nil {
		return &reader{body: b}, nil
	}
	b.reader.body = b
	return &b.reader, nil
}

// Each calls f with the parts of the body in their order, until f returns false. It reports whether they could
// be read.
func (b *Body) Each(f func(part []byte) (more bool)) bool {
	if b.retain() != nil {
		return false
	}
	defer b.letGo()
	for i := range b.blocks {
		buf, err := b.block(i)
		if err != nil {
			return false
		}
		more := f(buf.Bytes)
		if buf.Release(); !more {
			break
		}
	}
	return true
}

// block returns the content of a block, with a reference to it.
func (b *Body) block(i int) (*Buffer, error) {
	b.mu.Lock()
	part := b.blocks[i]
	if part.plain != nil {
		part.plain.acquire()
	}
	b.mu.Unlock()
	if part.plain != nil {
		return part.plain, nil
	}
	buf, err := b.spool.restore(part.stored, min(blockSize, b.size-i*blockSize))
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrLost, err)
		if b.OnLost != nil {
			b.OnLost(err)
		}
	}
	return buf, err
}

// Compress compresses the body for a wait. A small one stays as it is.
func (b *Body) Compress() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size < compressFrom || b.over {
		return
	}
	for i := range b.blocks {
		if plain := b.blocks[i].plain; plain != nil {
			small, _ := b.spool.store(plain.Bytes, true) // always has no error
			b.blocks[i] = block{stored: small}
			plain.Release()
		}
	}
}

// Release frees the body: there is no other try. A reader that has begun continues.
func (b *Body) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.over = true
		b.freeUnread()
	}
}

// retain adds a reader. It fails after Release.
func (b *Body) retain() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return os.ErrClosed
	}
	b.readers++
	return nil
}

// letGo removes a reader.
func (b *Body) letGo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers--
	b.freeUnread()
}

// freeUnread frees the blocks of a body that is released and has no reader. mu is held.
func (b *Body) freeUnread() {
	if !b.over || b.readers > 0 {
		return
	}
	for _, part := range b.blocks {
		if part.plain != nil {
			part.plain.Release()
		} else {
			b.spool.drop(part.stored)
		}
	}
	b.blocks, b.first = nil, [1]block{}
}

// reader reads a body for one try, and has one block of it in memory at a time. Its buffers may be reused once
// the transport has closed it, which may be after the answer has come, and while another goroutine reads.
type reader struct {
	body *Body

	mu    sync.Mutex
	state readerState
	next  int     // the block after buf
	buf   *Buffer // the current block; nil: none
	at    int     // in it
}

type readerState uint8

const (
	unread readerState = iota
	reading
	closed
)

// frame is how much is read at once. In a frame of HTTP/2, whose header is 9 bytes, it is one record of TLS: a few bytes
// more would be a record, and a system call, of their own.
const frame = 16<<10 - 9

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == 0 && r.state == unread && r.body.Size() > 0 { // it asks for the end alone: nothing is kept for that
		return 0, nil
	}
	if err := r.begin(); err != nil {
		return 0, err
	}
	if r.buf == nil && r.next == len(r.body.blocks) {
		return 0, io.EOF
	}
	if r.buf == nil {
		buf, err := r.body.block(r.next)
		if err != nil {
			return 0, err
		}
		r.buf, r.at = buf, 0
		r.next++
	}
	n := copy(p[:min(len(p), frame)], r.buf.Bytes[r.at:])
	if r.at += n; r.at == len(r.buf.Bytes) {
		r.drop()
	}
	return n, nil
}

// begin makes sure that the body stays.
func (r *reader) begin() error {
	switch r.state {
	case closed:
		return os.ErrClosed
	case unread:
		if err := r.body.retain(); err != nil {
			return err
		}
		r.state = reading
	}
	return nil
}

// drop releases the current block.
func (r *reader) drop() {
	if r.buf != nil {
		r.buf.Release()
		r.buf = nil
	}
}

// Close releases the buffers.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	if r.state == reading {
		r.body.letGo()
	}
	r.state = closed
	return nil
}

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

// classOf returns the pool for a size, or -1 for one that is too large.
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
