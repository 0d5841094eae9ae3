package spool

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
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
