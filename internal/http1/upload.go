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
	small     = 16 << 10              // what every socket takes without waiting for the other side
	patience  = 10 * time.Millisecond // for a server to take a request, before a goroutine goes on with it
	afterword = 50 * time.Millisecond // for the rest of a request after its answer has ended
	blockSize = 64 << 10
)

// blocks are what bodies are copied through.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// How far an upload is. An upload that has a goroutine and an exchange that has
// its answer hand the connection back together: the one that is last does.
const (
	sent    int32 = iota // all of it; the connection is the exchange's alone
	sending              // a goroutine is at it
	waiting              // a goroutine is at it, and the exchange is over
	failed               // the server did not take it; it may have answered all the same
	broke                // the body could not be read: the request was never whole
)

type body = io.ReadCloser

// memory is a body that need not be read.
type memory interface{ Bytes() []byte }

// upload writes a request. A server may answer before it has taken all of it,
// so the caller, who is to read the answer, does not wait long: what is not out
// by then is left to a goroutine, which ends with the body or the connection.
type upload struct {
	x      *exchange
	body   body
	length int64 // of the body; -1: it goes out in chunks
	left   int64 // to be read of it
	out    net.Buffers
	vec    [2][]byte // what out lies in
	block  *[blockSize]byte
	state  atomic.Int32
	err    error // why it failed; to be read when state says so
}

// start writes what can be written at once. head lies in the exchange's buffer.
func (u *upload) start(head []byte, atHand bool) {
	u.vec[0], u.out, u.left = head, u.vec[:1], u.length
	if err := u.load(atHand); err != nil {
		u.finish(broke, err)
		return
	}
	parts := len(u.out)
	err := u.write()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		_ = u.x.conn.SetWriteDeadline(time.Time{})
		if len(u.out) == parts { // the head is not out, and its buffer is needed
			u.out[0] = bytes.Clone(u.out[0])
		}
	case err != nil:
		u.finish(failed, err)
		return
	case u.left == 0:
		u.finish(sent, nil)
		return
	}
	u.state.Store(sending)
	go u.goOn()
}

// load puts beside the head what is at hand of the body: all of it if it is in
// memory, a block if it can be read without waiting.
func (u *upload) load(atHand bool) error {
	if u.length <= 0 {
		return nil
	}
	if m, ok := u.body.(memory); ok {
		u.vec[1], u.out, u.left = m.Bytes(), u.vec[:2], 0
		return u.complete(int64(len(u.vec[1])))
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
		return u.ends()
	}
	return nil
}

// complete holds the bytes that a body has against its length.
func (u *upload) complete(n int64) error {
	if n == u.length {
		return nil
	}
	return fmt.Errorf("http1: ContentLength=%d with Body length %d", u.length, n)
}

// ends wants nothing more to be in the body.
func (u *upload) ends() error {
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

// write writes out, but does not wait long for the server to take it.
func (u *upload) write() error {
	c, total := u.x.conn, 0
	for _, b := range u.out {
		total += len(b)
	}
	if c.raw != nil && total <= small {
		_, err := u.out.WriteTo(c.Conn)
		return err
	}
	if c.SetWriteDeadline(time.Now().Add(patience)) != nil {
		return os.ErrDeadlineExceeded // a goroutine can wait
	}
	_, err := u.out.WriteTo(c.Conn)
	if err == nil {
		_ = c.SetWriteDeadline(time.Time{})
	}
	return err
}

// goOn writes the rest.
func (u *upload) goOn() {
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

// copy reads the body and writes it, as it comes. It tells what an error means.
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
	return broke, u.ends()
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

// finish lets go of the body and says how the upload went: as how has it, or
// sent if there is no error.
func (u *upload) finish(how int32, err error) {
	u.close()
	if u.block != nil {
		blocks.Put(u.block)
	}
	u.block, u.vec, u.out = nil, [2][]byte{}, nil
	if u.err = err; err == nil {
		how = sent
	}
	switch before := u.state.Swap(how); {
	case before == waiting && how == sent:
		u.x.keep()
	case before == waiting:
		_ = u.x.conn.Close()
	case before == sending && how == broke:
		u.x.abort() // the server would wait for the rest for ever
	}
}

func (u *upload) close() {
	if u.body != nil {
		_ = u.body.Close() // nobody is left who could use the error
		u.body = nil
	}
}

// broken tells whether the request failed on its own side.
func (u *upload) broken() bool { return u.state.Load() == broke }

// lost tells whether the server did not take the request.
func (u *upload) lost() bool { return u.state.Load() == failed }

// settle tells whether the connection may carry another request, now that the
// answer is complete. If later is true, the upload decides that when it ends.
func (u *upload) settle() (reuse, later bool) {
	if u.state.Load() == sending {
		_ = u.x.conn.SetWriteDeadline(time.Now().Add(afterword))
		if u.state.CompareAndSwap(sending, waiting) {
			return false, true
		}
		_ = u.x.conn.SetWriteDeadline(time.Time{})
	}
	return u.state.Load() == sent, false
}
