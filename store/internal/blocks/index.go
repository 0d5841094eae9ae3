package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"github.com/minio/highwayhash"
)

// Index is what the server counted when it last wrote its summary of a stream. It may be older than the files.
type Index struct {
	Messages uint64
	Last     uint64            // the highest sequence number
	Subjects map[string]uint64 // messages by subject; nil: the server did not count them
}

// The files that the server makes itself if they are missing.
const (
	indexName    = "index.db"
	scheduleName = "sched.db"
	expiryName   = "thw.db"
)

var errIndex = errors.New("the summary of the stream cannot be decoded")

// RemoveSummaries makes the server read from the messages what it has stored about them: the instants of
// scheduled messages, which have no checksum, and unless index is true, everything.
func RemoveSummaries(dir string, index bool) error {
	err := errors.Join(os.RemoveAll(filepath.Join(dir, scheduleName)), os.RemoveAll(filepath.Join(dir, expiryName)))
	if !index {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, indexName)))
	}
	return err
}

// ReadIndex reads the summary in a directory of messages.
func ReadIndex(dir string, f Format) (Index, error) {
	data, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		return Index{}, err
	}
	key := sha256.Sum256([]byte(f.Stream))
	body := len(data) - highwayhash.Size64
	if body < 2 || data[0] != 11 || data[1] < 1 || data[1] > 4 {
		return Index{}, errIndex
	}
	sum := highwayhash.Sum64(data[:body], key[:])
	if binary.LittleEndian.Uint64(data[body:]) != sum {
		return Index{}, errIndex
	}
	r := reader{bytes.NewReader(data[2:body]), nil}
	return r.index(data[1])
}

// reader reads numbers; err is the first failure.
type reader struct {
	from *bytes.Reader
	err  error
}

func (r *reader) number() uint64 {
	n, err := binary.ReadUvarint(r.from)
	if err != nil {
		r.err = errIndex
	}
	return n
}

func (r *reader) text() string {
	n := r.number()
	if r.err != nil || n > uint64(r.from.Len()) {
		r.err = errIndex
		return ""
	}
	text := make([]byte, n)
	_, _ = r.from.Read(text) // it has that many
	return string(text)
}

// index reads the counts: those of the stream, with times in between, then those of its subjects, with the
// files that they are in.
func (r *reader) index(version byte) (Index, error) {
	var i Index
	i.Messages = r.number()
	for range 3 { // bytes, the first sequence number and its time
		r.number()
	}
	i.Last = r.number()
	r.number()
	count := r.number()
	for n := uint64(0); n < count && r.err == nil; n++ {
		if i.Subjects == nil {
			i.Subjects = map[string]uint64{}
		}
		subject, total := r.text(), r.number()
		r.number()
		if total > 1 || version >= 4 {
			r.number()
		}
		i.Subjects[subject] = total
	}
	return i, r.err
}
