package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	socketBuffer = 16 << 10              // every socket takes as much without waiting for the other side
	writeLimit   = 10 * time.Millisecond // for the server to take a request, before a goroutine continues
	restLimit    = 50 * time.Millisecond // for the rest of a request after its answer has ended
	blockSize    = 64 << 10
)

// blocks are for copying bodies.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// The states of an upload. Of an upload with a goroutine and its exchange, the one
// that ends last keeps or closes the connection.
const (
	sent     int32 = iota // all of it; the connection belongs to the exchange
	sending               // by a goroutine
	outlives              // by a goroutine, and the exchange is over
	failed                // the server did not take it; it may have answered all the same
	broke                 // the body could not be read: the request was never whole
)

type body = io.ReadCloser

// memory is a body that need not be read. Buffers appends what it has in memory, if that is all of it.
type memory interface{ Buffers(net.Buffers) net.Buffers }

// upload writes a request. A server may answer before it has taken all of it, so
// the caller, which is to read the answer, does not wait long. The rest is left to
// a goroutine, which ends with the body or the connection.
type upload struct {
	x      *exchange
	body   body
	length int64 // of the body; -1: it is sent in chunks
	left   int64 // to be read of it
	out    net.Buffers
	vec    [2][]byte // the array of out
	block  *[blockSize]byte
	state  atomic.Int32
	err    error // why it failed; to be read in the states failed and broke
	unsent bool  // it failed before a byte was written
}

// start writes what can be written at once. head is in the exchange's buffer.
// atHand says that reading the body does not block.
func (u *upload) start(head []byte, atHand bool) {
	u.vec[0], u.out, u.left = head, u.vec[:1], u.length
	if err := u.load(atHand); err != nil {
		u.finish(broke, err)
		return
	}
	parts := len(u.out)
	n, err := u.write()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		_ = u.x.conn.SetWriteDeadline(time.Time{})
		if len(u.out) == parts { // the head is not out, and its buffer is needed
			u.out[0] = bytes.Clone(u.out[0])
		}
	case err != nil:
		u.unsent = n == 0
		u.finish(failed, err)
		return
	case u.left == 0:
		u.finish(sent, nil)
		return
	}
	u.state.Store(sending)
	go u.writeRest()
}

// load adds what is at hand of the body to the head: all of it if it is in memory,
// a block if it can be read without blocking.
func (u *upload) load(atHand bool) error {
	if u.length <= 0 {
		return nil
	}
	if m, ok := u.body.(memory); ok {
		if u.out = m.Buffers(u.vec[:1]); len(u.out) > 1 {
			u.left = 0
			err := u.complete(sizeOf(u.out[1:]))
			u.join()
			return err
		}
	}
	if !atHand {
		return nil
	}
	head := u.vec[0]
	first := head[len(head):cap(head)]
	together := u.length <= int64(len(first))
	if !together {
		u.block = blocks.Get().(*[blockSize]byte)
		first = u.block[:]
	}
	first = first[:min(int64(len(first)), u.length)]
	n, err := io.ReadFull(u.body, first)
	switch u.left -= int64(n); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return u.complete(int64(n))
	case err != nil:
		return err
	case together:
		u.vec[0] = head[:len(head)+n]
	default:
		u.vec[1], u.out = first, u.vec[:2]
	}
	if u.left == 0 {
		return u.expectEnd()
	}
	return nil
}

// join copies a small body behind the head: one write of both costs less than a list of them.
func (u *upload) join() {
	head := u.out[0]
	if sizeOf(u.out) > int64(cap(head)) {
		return
	}
	for _, part := range u.out[1:] {
		head = append(head, part...)
	}
	u.vec[0], u.out = head, u.vec[:1]
}

func sizeOf(all net.Buffers) (sum int64) {
	for _, b := range all {
		sum += int64(len(b))
	}
	return sum
}

// complete checks the bytes of a body against its length.
func (u *upload) complete(n int64) error {
	if n == u.length {
		return nil
	}
	return fmt.Errorf("http1: ContentLength=%d with Body length %d", u.length, n)
}

// expectEnd checks that nothing more is in the body.
func (u *upload) expectEnd() error {
	var one [1]byte
	for range 100 {
		n, err := u.body.Read(one[:])
		switch {
		case n > 0:
			return u.complete(u.length + 1)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

// write writes out, but does not wait long for the server to take it. It returns the bytes that were written.
func (u *upload) write() (int64, error) {
	c := u.x.conn
	if c.raw != nil && sizeOf(u.out) <= socketBuffer {
		if len(u.out) > 1 {
			return u.out.WriteTo(c.Conn)
		}
		n, err := c.Conn.Write(u.out[0])
		u.out = nil
		return int64(n), err
	}
	if c.SetWriteDeadline(time.Now().Add(writeLimit)) != nil {
		return 0, os.ErrDeadlineExceeded // a goroutine can wait
	}
	n, err := u.out.WriteTo(c.Conn)
	if err == nil {
		_ = c.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// writeRest writes the rest.
func (u *upload) writeRest() {
	_, err := u.out.WriteTo(u.x.conn.Conn)
	if err != nil || u.left == 0 {
		u.finish(failed, err)
		return
	}
	if u.block == nil {
		u.block = blocks.Get().(*[blockSize]byte)
	}
	u.finish(u.copy())
}

// copy reads the body and writes it, as it comes. It returns the state for an error.
func (u *upload) copy() (int32, error) {
	for u.left != 0 {
		part := u.block[chunkLine : blockSize-len(crlf)]
		if u.left > 0 {
			part = part[:min(int64(len(part)), u.left)]
		}
		n, end := u.body.Read(part)
		if end != nil && end != io.EOF {
			return broke, end
		}
		if err := u.send(n, end != nil); err != nil {
			return failed, err
		}
		switch {
		case u.left > 0:
			u.left -= int64(n)
			if end != nil && u.left > 0 {
				return broke, u.complete(u.length - u.left)
			}
		case end != nil:
			return sent, nil
		}
	}
	return broke, u.expectEnd()
}

const (
	crlf      = "\r\n"
	chunkLine = 8 // room for a chunk's size and its line's end
)

// send writes the n bytes in the block, as a chunk if the length is not known.
func (u *upload) send(n int, last bool) error {
	from, to := chunkLine, chunkLine+n
	if u.length < 0 {
		if n > 0 {
			line := append(strconv.AppendInt(make([]byte, 0, chunkLine), int64(n), 16), crlf...)
			from -= len(line)
			copy(u.block[from:], line)
			to += copy(u.block[to:], crlf)
		}
		if last {
			return u.sendLast(u.block[from:to])
		}
	}
	if from == to {
		return nil
	}
	_, err := u.x.conn.Write(u.block[from:to])
	return err
}

// sendLast writes what is left and the chunk that ends the body.
func (u *upload) sendLast(rest []byte) error {
	u.out = append(u.vec[:0], rest, []byte("0\r\n\r\n"))
	_, err := u.out.WriteTo(u.x.conn.Conn)
	return err
}

// finish releases the body and sets the state: sent if there is no error, else state.
func (u *upload) finish(state int32, err error) {
	u.close()
	if u.block != nil {
		blocks.Put(u.block)
	}
	u.block, u.vec, u.out = nil, [2][]byte{}, nil
	if u.err = err; err == nil {
		state = sent
	}
	switch before := u.state.Swap(state); {
	case before == outlives && state == sent:
		u.x.keep()
	case before == outlives:
		_ = u.x.conn.Close()
	case before == sending && state == broke:
		u.x.abort() // else the server waits for the rest
	}
}

func (u *upload) close() {
	if u.body != nil {
		_ = u.body.Close() // no one is left to use the error
		u.body = nil
	}
}

// broken reports whether the request failed on its own side.
func (u *upload) broken() bool { return u.state.Load() == broke }

// lost reports whether the server did not take the request.
func (u *upload) lost() bool { return u.state.Load() == failed }

// settle reports whether the connection may carry another request, now that the
// answer is complete. If later is true, the upload decides about it when it ends.
func (u *upload) settle() (reuse, later bool) {
	if u.state.Load() == sending {
		_ = u.x.conn.SetWriteDeadline(time.Now().Add(restLimit))
		if u.state.CompareAndSwap(sending, outlives) {
			return false, true
		}
		_ = u.x.conn.SetWriteDeadline(time.Time{})
	}
	return u.state.Load() == sent, false
}
