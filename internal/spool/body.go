package spool

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// initialBound is how much memory a request gets for announcing its length.
const initialBound = 4 << 20

// ErrTooLarge is returned for a body beyond the limit.
var ErrTooLarge = errors.New("the request is too large")

// ErrLost is the cause of a request whose body cannot be read back.
var ErrLost = errors.New("the request's body could not be kept")

// Body is a request's body, kept for another try. While the request waits it is
// compressed, in memory or on disk. Its methods may be called concurrently.
type Body struct {
	OnLost func(error) // called when the body cannot be read back; set before the first Open

	spool *Spool
	size  int
	sum   [sha256.Size]byte // of the content, set by the first Compress or Digest

	mu         sync.Mutex
	plain      *Buffer // nil: compressed or released
	compressed compressed
	summed     bool // sum is set
}

// Read reads a body whole. size is its announced length, -1: unknown. A body of
// more than limit bytes is ErrTooLarge.
func (s *Spool) Read(src io.Reader, size, limit int64) (*Body, error) {
	if size > limit {
		return nil, ErrTooLarge
	}
	buf := NewBuffer(int(min(max(size, 0), initialBound))) // only announced, until the bytes are there
	var err error
	for {
		if len(buf.Bytes) == cap(buf.Bytes) {
			if int64(len(buf.Bytes)) == size {
				break // another read would find only its end
			}
			buf = buf.grow()
		}
		var n int
		n, err = src.Read(buf.Bytes[len(buf.Bytes):cap(buf.Bytes)])
		buf.Bytes = buf.Bytes[:len(buf.Bytes)+n]
		if int64(len(buf.Bytes)) > limit {
			err = ErrTooLarge
		}
		if err != nil || int64(len(buf.Bytes)) == size {
			break
		}
	}
	if err != nil && err != io.EOF {
		buf.Release()
		return nil, err
	}
	return &Body{spool: s, size: len(buf.Bytes), plain: buf}, nil
}

// Size returns the body's length in bytes.
func (b *Body) Size() int { return b.size }

// Plain returns the content of a body that has not been compressed or released.
func (b *Body) Plain() []byte { return b.plain.Bytes }

// Open returns a reader of the body, for one try. The content is fetched at the
// first read: a try may be over before its request goes out.
func (b *Body) Open() (io.ReadCloser, error) { return &reader{body: b}, nil }

// buffer returns the body's buffer with another reference to it.
func (b *Body) buffer() (*Buffer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.plain != nil:
	case b.compressed.empty():
		return nil, os.ErrClosed // it has been released
	default:
		buf, err := b.spool.decompress(b.compressed, b.size)
		if err != nil {
			b.OnLost(fmt.Errorf("%w: %w", ErrLost, err))
			return nil, err
		}
		b.plain = buf
	}
	b.plain.acquire()
	return b.plain, nil
}

// Compress compresses the body for a wait. A small one stays as it is.
func (b *Body) Compress() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plain == nil {
		return
	}
	b.sumOnce()
	if b.size < compressFrom {
		return
	}
	if b.compressed.empty() {
		b.compressed = b.spool.compress(b.plain.Bytes)
	}
	if !b.compressed.empty() {
		b.plain.Release()
		b.plain = nil
	}
}

// compressFrom is the size of a body that is worth compressing: below it, a
// request costs more for its connection.
const compressFrom = 8 << 10

// sumOnce sets the sum.
func (b *Body) sumOnce() {
	if !b.summed && b.plain != nil {
		b.sum, b.summed = sha256.Sum256(b.plain.Bytes), true
	}
}

// Digest returns the SHA-256 sum of the content. It may be asked after Compress.
func (b *Body) Digest() [sha256.Size]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sumOnce()
	return b.sum
}

// Release frees the body: there is no other try. A reader in use goes on.
func (b *Body) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plain != nil {
		b.plain.Release()
		b.plain = nil
	}
	b.spool.drop(b.compressed)
	b.compressed = compressed{}
}

// reader reads a body for one try. Its buffer may be reused once the transport has closed it, which may be
// after the answer has come, and while another goroutine reads.
type reader struct {
	body *Body

	mu     sync.Mutex
	buf    *Buffer // nil: not read yet, or closed
	at     int
	closed bool
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return 0, err
	}
	if r.at == len(r.buf.Bytes) {
		return 0, io.EOF
	}
	n := copy(p, r.buf.Bytes[r.at:])
	r.at += n
	return n, nil
}

// load fetches the buffer at the first read.
func (r *reader) load() (err error) {
	if r.closed {
		return os.ErrClosed
	}
	if r.buf == nil {
		r.buf, err = r.body.buffer()
	}
	return err
}

// Bytes returns what is left to send, for a transport that writes it without a
// copy. It is valid until Close. nil: it cannot be read, and Read returns why.
func (r *reader) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load() != nil {
		return nil
	}
	return r.buf.Bytes[r.at:]
}

// Close releases the buffer.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buf != nil {
		r.buf.Release()
	}
	r.buf, r.closed = nil, true
	return nil
}
