package gateway

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
)

// defaultBodyBound is the largest request that is taken where nothing else is said:
// the vendors' own limit.
const defaultBodyBound = 32 << 20

// initialBufferBound is how much memory a request gets for saying how long it is.
const initialBufferBound = 4 << 20

// errTooLarge says that a request's body is beyond the bound.
var errTooLarge = errors.New("the request is too large")

// errLost ends a request whose body cannot be read back: nobody else's fault.
var errLost = errors.New("the request's body could not be kept")

// body is a request's body, kept for another try. While the request waits it is
// packed: compressed, in memory or on disk.
type body struct {
	spool  *spool
	onLost func(error) // told that it cannot be had any more; set by the flight that sends it
	size   int
	sum    [sha256.Size]byte // of the content, from the first packing on; what it stood for never changes

	mu         sync.Mutex
	plain      *buffer // nil: packed or released
	compressed packedBody
	summed     bool // sum is set
}

// readBody takes a request's body whole. size is what the client says about
// its length; -1: nothing.
func readBody(src io.Reader, size, limit int64, s *spool) (*body, error) {
	if size > limit {
		return nil, errTooLarge
	}
	buf := newBuffer(int(min(max(size, 0), initialBufferBound))) // it is a claim, until the bytes are there
	var err error
	for {
		if len(buf.bytes) == cap(buf.bytes) {
			if int64(len(buf.bytes)) == size {
				break // one more read would tell no more
			}
			buf = buf.grow()
		}
		var n int
		n, err = src.Read(buf.bytes[len(buf.bytes):cap(buf.bytes)])
		buf.bytes = buf.bytes[:len(buf.bytes)+n]
		if int64(len(buf.bytes)) > limit {
			err = errTooLarge
		}
		if err != nil || int64(len(buf.bytes)) == size {
			break
		}
	}
	if err != nil && err != io.EOF {
		buf.release()
		return nil, err
	}
	return &body{spool: s, size: len(buf.bytes), plain: buf}, nil
}

// open gives the body to send, for one try. It is not looked at before it is
// read: a try may be over before it goes out.
func (b *body) open() (io.ReadCloser, error) { return &bodyReader{body: b}, nil }

// buffer gives the body's buffer, held for the taker.
func (b *body) buffer() (*buffer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.plain != nil:
	case b.compressed.none():
		return nil, os.ErrClosed // it has been released
	default:
		buf, err := b.spool.unpack(b.compressed, b.size)
		if err != nil {
			b.onLost(fmt.Errorf("%w: %w", errLost, err))
			return nil, err
		}
		b.plain = buf
	}
	b.plain.acquire()
	return b.plain, nil
}

// compress makes the body small for a wait. A small one stays as it is.
func (b *body) compress() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plain == nil {
		return
	}
	b.sumOnce()
	if b.size < packFrom {
		return
	}
	if b.compressed.none() {
		b.compressed = b.spool.pack(b.plain.bytes)
	}
	if !b.compressed.none() {
		b.plain.release()
		b.plain = nil
	}
}

// packFrom is the size of a body that is worth packing: below it, a request
// costs more for its connection.
const packFrom = 8 << 10

// sumOnce makes sure of the sum.
func (b *body) sumOnce() {
	if !b.summed && b.plain != nil {
		b.sum, b.summed = sha256.Sum256(b.plain.bytes), true
	}
}

// digest gives the sum of the content.
func (b *body) digest() [sha256.Size]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sumOnce()
	return b.sum
}

// release lets go of the body: there will be no other try. What is being sent
// of it goes on.
func (b *body) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plain != nil {
		b.plain.release()
		b.plain = nil
	}
	b.spool.drop(b.compressed)
	b.compressed = packedBody{}
}

// bodyReader is a body on its way. Its buffer may be used again when the transport
// has closed it, which may be after the answer has come, and while another
// goroutine reads.
type bodyReader struct {
	body *body

	mu     sync.Mutex
	buf    *buffer // nil: not read yet, or closed
	at     int
	closed bool
}

// Read reads on.
func (s *bodyReader) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return 0, err
	}
	if s.at == len(s.buf.bytes) {
		return 0, io.EOF
	}
	n := copy(p, s.buf.bytes[s.at:])
	s.at += n
	return n, nil
}

// load makes sure of the buffer.
func (s *bodyReader) load() (err error) {
	if s.closed {
		return os.ErrClosed
	}
	if s.buf == nil {
		s.buf, err = s.body.buffer()
	}
	return err
}

// Bytes gives what is left to send, for a transport that writes it from where
// it lies. It is good until Close. nil: it cannot be had, Read says why.
func (s *bodyReader) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.load() != nil {
		return nil
	}
	return s.buf.bytes[s.at:]
}

// Close lets go of the buffer.
func (s *bodyReader) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf != nil {
		s.buf.release()
	}
	s.buf, s.closed = nil, true
	return nil
}

// buffer is memory that goes back to a pool when all who hold it have released
// it.
type buffer struct {
	bytes []byte
	refs  atomic.Int32
	class int // of its pool; -1: none
}

// The pools hold buffers of 512 bytes to 2 MiB, four sizes between two powers of
// two, so that at most a fifth is waste.
const (
	smallest = 9 // 512 bytes
	steps    = 4
	largest  = 21 // 2 MiB
)

var pools [(largest-smallest)*steps + 1]sync.Pool

// classOf gives the pool for a size; -1: there is none.
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

// classSize gives the size of a pool's buffers.
func classSize(class int) int {
	if class == 0 {
		return 1 << smallest
	}
	top, step := smallest+(class-1)/steps, (class-1)%steps+1
	return 1<<top + step<<(top-2)
}

// newBuffer gives an empty buffer that has room.
func newBuffer(size int) *buffer {
	class := classOf(size)
	if class < 0 {
		b := &buffer{bytes: make([]byte, 0, size), class: -1}
		b.refs.Store(1)
		return b
	}
	b, ok := pools[class].Get().(*buffer)
	if !ok {
		b = &buffer{bytes: make([]byte, 0, classSize(class)), class: class}
	}
	b.bytes = b.bytes[:0]
	b.refs.Store(1)
	return b
}

// grow gives a larger buffer with the same content.
func (b *buffer) grow() *buffer {
	larger := newBuffer(2 * cap(b.bytes))
	larger.bytes = append(larger.bytes, b.bytes...)
	b.release()
	return larger
}

// acquire is for another who uses the buffer.
func (b *buffer) acquire() { b.refs.Add(1) }

// release is for one who does not use it any more.
func (b *buffer) release() {
	if b.refs.Add(-1) == 0 && b.class >= 0 {
		pools[b.class].Put(b)
	}
}
