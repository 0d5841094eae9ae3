package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/maphash"
	"slices"
)

// DigestSeed is what digests depend on, two random seeds: digests with different ones cannot be compared. With the zero
// seed they are the same in every process, and take longer.
type DigestSeed [2]maphash.Seed

// Digest is a hash of 128 bits.
type Digest [2]uint64

// RequestDigest computes what a request and its re-send have in common: a hash of its JSON in which neither the
// order of an object's members nor whitespace counts, nor the members that the model never sees and that
// clients change when they send again. It takes the body in parts and needs little memory, however large it is.
//
// Strings and numbers count as they are written: a client writes them the same way each time.
type RequestDigest struct {
	unseen  []string
	hash    digestHash // of the string, key or scalar that is read
	step    digestStep
	open    []openValue // the objects and arrays around what is read
	name    []byte      // the beginning of a key of the request itself
	quiet   bool        // inside a member that does not count
	escaped bool        // the last part ended behind a backslash in a string
	sum     Digest
}

// digestStep is what a RequestDigest reads next.
type digestStep uint8

const (
	wantValue digestStep = iota
	wantFirstElement
	wantFirstKey
	wantKey
	wantColon
	wantComma
	digestKey
	digestString
	digestScalar
	digestEnd
	digestInvalid
)

// openValue is an object or array whose end has not come.
type openValue struct {
	object bool
	key    Digest // of the member that is read
	sum    Digest // of the members so far, in any order, or of the elements, in theirs
	n      uint64
}

// maxNesting is how deep the values of a request may be nested to be understood.
const maxNesting = 512

// NewRequestDigest returns the digest for a request of the API.
func (a *API) NewRequestDigest(seed DigestSeed) *RequestDigest {
	return &RequestDigest{unseen: a.is.Unseen, hash: newDigestHash(seed)}
}

// DigestOf returns the digest of bytes that come in parts.
func DigestOf(seed DigestSeed, each func(func(part []byte) (more bool)) bool) (Digest, bool) {
	h := newDigestHash(seed)
	whole := each(func(part []byte) (more bool) { h.write(part); return true })
	return h.sum(), whole
}

// digestHash is a hash of 128 bits.
type digestHash interface {
	reset()
	write([]byte)
	sum() Digest
	join(a, b Digest) Digest // the hash of two
}

// newDigestHash returns the hash with a seed.
func newDigestHash(seed DigestSeed) digestHash {
	if seed == (DigestSeed{}) {
		return &portableHash{sha256.New()}
	}
	h := &seededHash{seed: seed}
	for i := range seed {
		h.text[i].SetSeed(seed[i])
	}
	return h
}

// seededHash is that of one process.
type seededHash struct {
	seed DigestSeed
	text [2]maphash.Hash
}

func (h *seededHash) reset() {
	for i := range h.text {
		h.text[i].Reset()
	}
}

func (h *seededHash) write(part []byte) {
	for i := range h.text {
		_, _ = h.text[i].Write(part) // it never fails
	}
}

func (h *seededHash) sum() Digest { return Digest{h.text[0].Sum64(), h.text[1].Sum64()} }

func (h *seededHash) join(a, b Digest) Digest {
	both := [2]Digest{a, b}
	return Digest{maphash.Comparable(h.seed[0], both), maphash.Comparable(h.seed[1], both)}
}

// portableHash is the half of a SHA-256.
type portableHash struct{ text hash.Hash }

func (h *portableHash) reset()            { h.text.Reset() }
func (h *portableHash) write(part []byte) { _, _ = h.text.Write(part) } // it never fails

func (h *portableHash) sum() Digest {
	var room [sha256.Size]byte
	return half([sha256.Size]byte(h.text.Sum(room[:0])))
}

func (h *portableHash) join(a, b Digest) Digest {
	var both [4 * 8]byte
	for i, n := range [...]uint64{a[0], a[1], b[0], b[1]} {
		binary.BigEndian.PutUint64(both[8*i:], n)
	}
	return half(sha256.Sum256(both[:]))
}

// half returns the first half of a SHA-256.
func half(sum [sha256.Size]byte) Digest {
	return Digest{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

// Scan reads the next part of the body. It reports whether the rest is of no use: the body is no JSON.
func (d *RequestDigest) Scan(part []byte) (done bool) {
	for len(part) > 0 && d.step != digestInvalid {
		switch d.step {
		case digestKey, digestString:
			part = d.scanString(part)
		case digestScalar:
			part = d.scanScalar(part)
		default:
			part = d.scanMark(part)
		}
	}
	return d.step == digestInvalid
}

// Sum returns the digest of the whole body; false: it is not one JSON object, or nested too deeply.
func (d *RequestDigest) Sum() (Digest, bool) { return d.sum, d.step == digestEnd }

// scanMark reads up to a mark, or to the beginning of a key or a value.
func (d *RequestDigest) scanMark(part []byte) []byte {
	part = bytes.TrimLeft(part, " \t\r\n")
	if len(part) == 0 {
		return nil
	}
	mark, at := part[0], d.step
	switch {
	case at == digestEnd:
		d.step = digestInvalid
	case mark == '}' && (at == wantFirstKey || at == wantComma && d.inObject()), mark == ']' && (at == wantFirstElement || at == wantComma && !d.inObject()):
		d.close()
	case mark == '"' && (at == wantFirstKey || at == wantKey):
		d.begin(digestKey)
		d.name = d.name[:0]
	case mark == ':' && at == wantColon:
		d.step = wantValue
	case mark == ',' && at == wantComma && d.inObject():
		d.step = wantKey
	case mark == ',' && at == wantComma:
		d.step = wantValue
	case at == wantValue, at == wantFirstElement:
		return d.beginValue(part)
	default:
		d.step = digestInvalid
	}
	return part[1:]
}

func (d *RequestDigest) inObject() bool { return d.open[len(d.open)-1].object }

// begin begins a key, a string or a scalar.
func (d *RequestDigest) begin(s digestStep) {
	d.step = s
	d.hash.reset()
	d.hash.write([]byte{byte(s)}) // the string "1" is not the number
}

// beginValue looks at the first byte of a value.
func (d *RequestDigest) beginValue(part []byte) []byte {
	switch mark := part[0]; {
	case mark == '{' || mark == '[':
		if len(d.open) == maxNesting {
			d.step = digestInvalid
			return nil
		}
		d.step = wantFirstElement
		if mark == '{' {
			d.step = wantFirstKey
		}
		d.open = append(d.open, openValue{object: mark == '{'})
	case len(d.open) == 0, bytes.IndexByte([]byte(",:]}"), mark) >= 0:
		d.step = digestInvalid
	case mark == '"':
		d.begin(digestString)
	default:
		d.begin(digestScalar)
		return part
	}
	return part[1:]
}

// scanString reads a key or a string up to its end.
func (d *RequestDigest) scanString(part []byte) []byte {
	end := stringEnd(part, &d.escaped)
	if end < 0 {
		d.write(part)
		return nil
	}
	d.write(part[:end-1])
	if d.step == digestString {
		d.end(d.hash.sum())
		return part[end:]
	}
	d.open[len(d.open)-1].key = d.hash.sum()
	if len(d.open) == 1 {
		d.quiet = slices.Contains(d.unseen, string(d.name))
	}
	d.step = wantColon
	return part[end:]
}

// write adds a part of a string or a scalar.
func (d *RequestDigest) write(part []byte) {
	if d.quiet {
		return
	}
	d.hash.write(part)
	if d.step == digestKey && len(d.open) == 1 {
		d.name = append(d.name, part[:min(len(part), modelBound-min(modelBound, len(d.name)))]...)
	}
}

// scanScalar reads a number or a literal up to what follows.
func (d *RequestDigest) scanScalar(part []byte) []byte {
	n := bytes.IndexAny(part, ",:]}\" \t\r\n")
	if n < 0 {
		d.write(part)
		return nil
	}
	d.write(part[:n])
	d.end(d.hash.sum())
	return part[n:]
}

// close ends the innermost object or array.
func (d *RequestDigest) close() {
	v := d.open[len(d.open)-1]
	d.open = d.open[:len(d.open)-1]
	end := Digest{v.n}
	if v.object {
		end[1] = 1
	}
	d.end(d.hash.join(v.sum, end))
}

// end adds a value that has ended to the one around it. An object adds up the hashes of its members, which makes
// their order irrelevant; an array hashes its elements one after the other.
func (d *RequestDigest) end(value Digest) {
	if len(d.open) == 0 {
		d.sum, d.step = value, digestEnd
		return
	}
	d.step = wantComma
	if d.quiet {
		d.quiet = len(d.open) > 1
		return
	}
	v := &d.open[len(d.open)-1]
	v.n++
	if !v.object {
		v.sum = d.hash.join(v.sum, value)
		return
	}
	member := d.hash.join(v.key, value)
	v.sum[0] += member[0]
	v.sum[1] += member[1]
}
