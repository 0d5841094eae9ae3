package spool

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// level makes 23 KB of 64 KB of prose, in a millisecond. Above it a block takes twice as long for a KB less.
const level = 4

// coder compresses blocks, one at a time. Its zero value is ready.
type coder struct {
	writer *gzip.Writer
	reader gzip.Reader
}

// compress returns what is left of a block, with a checksum, in room or, where that does not suffice, elsewhere.
func (c *coder) compress(plain, room []byte) []byte {
	small := bytes.NewBuffer(room[:0])
	if c.writer == nil {
		c.writer, _ = gzip.NewWriterLevel(nil, level) // which is a level
	}
	c.writer.Reset(small)
	_, _ = c.writer.Write(plain) // to memory: none fails
	_ = c.writer.Close()
	return small.Bytes()
}

// expand fills plain with the block that compress has returned. It fails if that is damaged, or has another size.
func (c *coder) expand(small, plain []byte) error {
	if err := c.reader.Reset(bytes.NewReader(small)); err != nil {
		return err
	}
	if _, err := io.ReadFull(&c.reader, plain); err != nil {
		return err
	}
	var more [1]byte
	switch _, err := io.ReadFull(&c.reader, more[:]); err {
	case io.EOF: // the checksum is right
		return nil
	case nil:
		return errors.New("the block has another size")
	default:
		return err
	}
}

// Bounds on unpacking. A window of more than 8 MiB is against RFC 9659.
const (
	maxUnpackers = 4 // at a time
	maxWindow    = 8 << 20
	maxRatio     = 100 // beyond freeRatio
	freeRatio    = 1 << 20
	unpackedPart = 16 << 10
)

// unpackers read the content codings of bodies.
type unpackers struct {
	slots chan struct{}
	gzips sync.Pool
	zstds sync.Pool
}

// unpacker reads what another reader has in a content coding.
type unpacker interface {
	io.Reader
	Reset(io.Reader) error
}

// Unpack calls f with the parts of a body's content, decoded from its Content-Encoding, until f returns false. It
// reports whether it got that far, or to the end: an encoding may be unknown, a body damaged, and content of
// more than limit bytes, or of a hundred times the body's, is not read on. Codex sends zstd.
func (s *Spool) Unpack(encoding string, b *Body, limit int64, f func(part []byte) (more bool)) bool {
	return s.withUnpacked(encoding, b, limit, func(content io.Reader, limit int64) bool {
		return eachPart(content, limit, f)
	})
}

// errCoding is returned for a body whose content coding is unknown, or that is damaged.
var errCoding = errors.New("the request's content coding cannot be read")

// Decode returns the content of a body as another one, decoded from its Content-Encoding. It fails with ErrTooLarge
// where Unpack does, and with ErrFull if there is no room.
func (s *Spool) Decode(encoding string, b *Body, limit int64) (decoded *Body, err error) {
	err = errCoding
	s.withUnpacked(encoding, b, limit, func(content io.Reader, limit int64) bool {
		decoded, err = s.Read(content, -1, limit)
		return err == nil
	})
	return decoded, err
}

// withUnpacked calls f with what reads the content of a body, and with the most that may be read.
func (s *Spool) withUnpacked(encoding string, b *Body, limit int64, f func(content io.Reader, limit int64) bool) bool {
	s.unpacked.Do(func() { s.slots = make(chan struct{}, min(maxUnpackers, runtime.GOMAXPROCS(0))) })
	var pool *sync.Pool
	switch encoding {
	case "gzip", "x-gzip":
		pool = &s.gzips
	case "zstd":
		pool = &s.zstds
	default:
		return false
	}
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	u, ok := pool.Get().(unpacker)
	if !ok {
		u = newUnpacker(encoding)
	}
	packed, _ := b.Open()
	defer packed.Close()
	if u.Reset(packed) != nil {
		return false
	}
	defer pool.Put(u)
	return f(u, min(limit, freeRatio+maxRatio*int64(b.Size())))
}

// newUnpacker returns an unpacker for an encoding.
func newUnpacker(encoding string) unpacker {
	if encoding != "zstd" {
		return new(gzip.Reader)
	}
	z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	return z
}

// eachPart calls f with what is read, until it returns false.
func eachPart(src io.Reader, limit int64, f func(part []byte) (more bool)) bool {
	buf := NewBuffer(unpackedPart)
	defer buf.Release()
	for limit > 0 {
		n, err := src.Read(buf.room())
		switch limit -= int64(n); {
		case n > 0 && !f(buf.room()[:n]):
			return true
		case err != nil:
			return err == io.EOF
		}
	}
	return false
}
