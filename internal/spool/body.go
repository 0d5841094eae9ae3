package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
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

// lend appends the blocks of a body that is in memory whole, with a reference to each.
func (b *Body) lend(to []*Buffer) []*Buffer {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, part := range b.blocks {
		if part.plain == nil {
			return to
		}
	}
	for _, part := range b.blocks {
		part.plain.acquire()
		to = append(to, part.plain)
	}
	return to
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

// Release frees the body: there is no other try. A reader that has begun goes on.
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
