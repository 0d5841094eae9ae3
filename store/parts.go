package store

import (
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
)

// largestPart is how much of an entry is in one message. A larger entry is
// written as several messages, all or none.
const largestPart = 256 << 10

const (
	partHeader    = "Ridethrough-Part"    // of how many, and of which entry, where there are several
	deletedHeader = "Ridethrough-Deleted" // that the log was deleted
)

// split makes the messages of an entry.
func split(subject string, data []byte, hash string) []*nats.Msg {
	n := (len(data) + largestPart - 1) / largestPart
	all := make([]*nats.Msg, n)
	for i := range all {
		all[i] = &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data[i*largestPart : min((i+1)*largestPart, len(data))]}
		if n > 1 {
			all[i].Header.Set(partHeader, fmt.Sprintf("%d %d %s", i+1, n, hash))
		}
	}
	return all
}

// part tells which part of an entry a message is, of how many, if it is one.
func part(h nats.Header) (i, n int, hash string, ok bool) {
	said := h.Get(partHeader)
	if said == "" {
		return 0, 0, "", false
	}
	_, err := fmt.Sscanf(said, "%d %d %s", &i, &n, &hash)
	return i, n, hash, err == nil && 1 <= i && i <= n
}

// joiner puts the messages of entries together again. What was left by a
// writer that died in the middle is passed over: it was never acknowledged.
type joiner struct {
	hash string
	next int
	data []byte
}

// add takes the next message of a subject, and gives an entry once it is whole.
func (j *joiner) add(header nats.Header, data []byte) ([]byte, bool) {
	i, n, hash, several := part(header)
	if !several {
		*j = joiner{}
		return data, true
	}
	if i == 1 {
		*j = joiner{hash: hash, next: 1}
	}
	if hash != j.hash || i != j.next {
		*j = joiner{}
		return nil, false
	}
	j.data, j.next = append(j.data, data...), i+1
	return j.data, i == n
}

// entryAt is a whole entry and the sequence of its last message.
type entryAt struct {
	seq  uint64
	data []byte
}

// entries puts messages together. A log that was deleted is ErrDeleted.
func entries(messages iter.Seq2[stored, error]) iter.Seq2[entryAt, error] {
	return func(yield func(entryAt, error) bool) {
		var j joiner
		for m, err := range messages {
			if err == nil && m.header.Get(deletedHeader) != "" {
				err = ErrDeleted
			}
			if err != nil {
				yield(entryAt{}, err)
				return
			}
			if data, whole := j.add(m.header, m.data); whole && !yield(entryAt{m.seq, data}, nil) {
				return
			}
		}
	}
}
