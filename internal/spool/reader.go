package spool

import (
	"io"
	"net"
	"os"
	"sync"
)

// reader reads a body for one try, and has one block of it in memory at a time. Its buffers may be reused once
// the transport has closed it, which may be after the answer has come, and while another goroutine reads.
type reader struct {
	body *Body

	mu    sync.Mutex
	state readerState
	next  int       // the block after buf
	buf   *Buffer   // the current block; nil: none
	at    int       // in it
	lent  []*Buffer // by Buffers
	one   [1]*Buffer
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

// Buffers appends the body to a list of buffers, for a transport that writes it without a copy. They are valid
// until Close. It appends nothing where the body has been read from, is not in memory, or cannot be read.
func (r *reader) Buffers(to net.Buffers) net.Buffers {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != unread || r.begin() != nil {
		return to
	}
	r.lent = r.body.lend(r.one[:0])
	for _, b := range r.lent {
		to = append(to, b.Bytes)
	}
	if len(r.lent) > 0 {
		r.next = len(r.lent)
	}
	return to
}

// Close releases the buffers.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	for _, b := range r.lent {
		b.Release()
	}
	r.lent = nil
	if r.state == reading {
		r.body.letGo()
	}
	r.state = closed
	return nil
}
