// Package blocks reads the files in which an embedded NATS server keeps a stream, before the server does. A
// server that is given a damaged file may loop without end, or delete everything behind the damage. So this
// package checks every message, and takes out of a file what cannot be read, and only that.
//
// The form of the files is that of nats-server 2.14 and later, without compression and encryption.
package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/minio/highwayhash"
)

// A message in a file is its size, sequence number, time and size of its subject, then the subject, maybe the
// size of a header and the header, the data, and a checksum of nearly all of it.
const (
	fixedSize   = 4 + 8 + 8 + 2
	hashSize    = 8
	headerBit   = 1 << 31 // of the size: there is a header
	erasedBit   = 1 << 63 // of the sequence number: the message was deleted
	tombBit     = 1 << 62 // of the sequence number: this only says that the message was deleted
	recordBound = 32 << 20
	searchBound = 1 << 30 // bytes to hash in search of the message behind a damaged one
)

// Format describes the messages that a stream holds. Checksums do not cover where a subject ends.
type Format struct {
	Stream  string // the name, which the keys of the checksums are made of
	Subject func(subject []byte) bool
	Bare    func(data []byte) bool // whether data may stand without a header
}

// record is a message in a file, or the mark of a deleted one.
type record struct {
	size                  int
	seq                   uint64 // with its bits
	subject, header, data []byte
}

func (r record) number() uint64 { return r.seq &^ (erasedBit | tombBit) }

// span is a part of a file.
type span struct{ from, to int }

// parser parses the records of one file.
type parser struct {
	format Format
	hash   hash.Hash
	hashed int // bytes
}

func newParser(f Format, number int) (*parser, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", f.Stream, number))
	h, err := highwayhash.New64(key[:])
	return &parser{format: f, hash: h}, err
}

// parse returns the record at the beginning of b, or false if there is none that can be trusted.
func (p *parser) parse(b []byte) (r record, ok bool) {
	if len(b) < fixedSize+hashSize {
		return r, false
	}
	size, subjectSize := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint16(b[20:]))
	hasHeader := size&headerBit != 0
	r = record{size: int(size &^ headerBit), seq: binary.LittleEndian.Uint64(b[4:])}
	if r.size > min(len(b), recordBound) || r.size < fixedSize+subjectSize+hashSize {
		return r, false
	}
	rest := b[fixedSize : r.size-hashSize]
	r.subject, rest = rest[:subjectSize], rest[subjectSize:]
	if hasHeader {
		if len(rest) < 4 {
			return r, false
		}
		n := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		if uint64(n) > uint64(len(rest)) {
			return r, false
		}
		r.header = rest[:n]
	}
	r.data = rest[len(r.header):]
	return r, p.isPlausible(r, hasHeader) && p.sum(b[4:20], r.subject, rest) == [hashSize]byte(b[r.size-hashSize:r.size])
}

// isPlausible checks what checksums do not cover. It also saves hashing.
func (p *parser) isPlausible(r record, hasHeader bool) bool {
	switch {
	case r.seq&(tombBit|erasedBit) != 0:
		return r.number() > 0 && (r.seq&tombBit == 0 || r.size == fixedSize+hashSize)
	case r.seq == 0 || !p.format.Subject(r.subject):
		return false
	case hasHeader:
		return bytes.HasPrefix(r.header, []byte("NATS/1.0")) && bytes.HasSuffix(r.header, []byte("\r\n\r\n"))
	}
	return p.format.Bare(r.data)
}

func (p *parser) sum(parts ...[]byte) (sum [hashSize]byte) {
	p.hash.Reset()
	for _, part := range parts {
		_, _ = p.hash.Write(part) // it never fails
		p.hashed += len(part)
	}
	p.hash.Sum(sum[:0])
	return sum
}

// split yields the records of a file in their order, and for each part of it that holds none its span.
func (p *parser) split(data []byte, yield func(record), bad func(span)) {
	p.hashed = -len(data)
	for at := 0; at < len(data); {
		r, ok := p.parse(data[at:])
		if ok {
			yield(r)
			at += r.size
			continue
		}
		next := p.search(data, at+1)
		bad(span{at, next})
		at = next
	}
}

// search returns where the next record begins, or the end of the data. It gives up before it takes long: what
// looks like the beginning of records without being one may have been made on purpose.
func (p *parser) search(data []byte, from int) int {
	for at := from; at < len(data) && p.hashed < searchBound; at++ {
		if _, ok := p.parse(data[at:]); ok {
			return at
		}
	}
	return len(data)
}
