package nats

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// logEntry is one append as it is stored. Each has the hash of the one before, so
// that a reader finds what is missing or was changed.
type logEntry struct {
	N       int64          `json:"n"`              // of the first record
	Prev    string         `json:"prev,omitempty"` // hash of the entry before
	ID      string         `json:"id"`             // keeps the same records of two writers apart
	Records []store.Record `json:"records"`
}

// encodeEntry returns the entry for a position, and the position after it without its Seq.
func encodeEntry(conversation string, at store.Position, records []store.Record) ([]byte, store.Position, error) {
	if err := limit.ID("conversation", conversation); err != nil {
		return nil, at, err
	}
	if len(records) == 0 {
		return nil, at, fmt.Errorf("%w: append of no records", store.ErrInvalid)
	}
	e := logEntry{N: at.N + 1, Prev: at.Hash, ID: rand.Text()[:12], Records: make([]store.Record, len(records))}
	for i, r := range records {
		if err := limit.Record(r.Turn, r.Type, r.Time, r.Body); err != nil {
			return nil, at, err
		}
		r.N, r.Time = e.N+int64(i), r.Time.UTC()
		e.Records[i] = r
	}
	data, err := marshal(e)
	if err != nil {
		return nil, at, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if len(data) > limit.Append {
		return nil, at, fmt.Errorf("%w: append of %d bytes", store.ErrTooLarge, len(data))
	}
	return data, e.end(conversation, data), nil
}

// decodeEntry returns the records of the entry that follows a position, and the position after it without its Seq. The
// damage has a Next if the entry is whole and only what is before it is not. A reader that knows of the damage of
// records up to a number reads on after them.
func decodeEntry(conversation string, at store.Position, known int64, data []byte) ([]store.Record, store.Position, error) {
	var e logEntry
	d := &store.Damage{Conversation: conversation, N: at.N + 1}
	switch d.Why = e.decode(data); {
	case d.Why != "":
		return nil, at, d
	case e.N <= at.N:
		d.Why = fmt.Sprintf("record %d is in its place", e.N)
		return nil, at, d
	case e.N == at.N+1 && e.Prev == at.Hash, e.N-1 <= known:
		return e.Records, e.end(conversation, data), nil
	case e.N > at.N+1:
		d.Why = fmt.Sprintf("missing, the next one is %d", e.N)
	default:
		d.Why = "an earlier record was changed"
	}
	d.Next = e.N
	return nil, at, d
}

// decode reads an entry. It returns why it is not whole; "": it is.
func (e *logEntry) decode(data []byte) string {
	switch err := json.Unmarshal(data, e); {
	case err != nil:
		return fmt.Sprintf("it cannot be decoded: %v", err)
	case len(e.Records) == 0:
		return "empty"
	}
	for i, r := range e.Records {
		if r.N != e.N+int64(i) {
			return fmt.Sprintf("record %d is in the entry that begins with %d", r.N, e.N)
		}
	}
	return ""
}

// end returns the position behind an entry without its Seq.
func (e logEntry) end(conversation string, data []byte) store.Position {
	return store.Position{N: e.N + int64(len(e.Records)) - 1, Hash: entryHash(conversation, data)}
}

// entryHash includes the conversation, so that an entry that was moved to another log is found.
func entryHash(conversation string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(conversation))
	h.Write([]byte{0})
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// marshal is json.Marshal without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// maxPart is how many bytes of an entry one message holds. A larger entry is
// written as several messages, all or none.
const maxPart = 256 << 10

const (
	partHeader    = "Ridethrough-Part"    // number, count and hash of a part of an entry
	deletedHeader = "Ridethrough-Deleted" // marks a deletion
)

// split returns the messages of an entry.
func split(subject string, data []byte, hash string) []*nats.Msg {
	n := (len(data) + maxPart - 1) / maxPart
	parts := make([]*nats.Msg, n)
	for i := range parts {
		parts[i] = &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data[i*maxPart : min((i+1)*maxPart, len(data))]}
		if n > 1 {
			parts[i].Header.Set(partHeader, fmt.Sprintf("%d %d %s", i+1, n, hash))
		}
	}
	return parts
}

// parsePart returns the number of a part, from 1, the count of parts and the hash
// of their entry; false: the message is a whole entry.
func parsePart(h nats.Header) (i, n int, hash string, ok bool) {
	text := h.Get(partHeader)
	if text == "" {
		return 0, 0, "", false
	}
	_, err := fmt.Sscanf(text, "%d %d %s", &i, &n, &hash)
	return i, n, hash, err == nil && 1 <= i && i <= n
}

// joiner joins the parts of entries. It skips the parts of an entry that its
// writer did not complete: no such entry was acknowledged.
type joiner struct {
	hash string
	next int
	data []byte
}

// add adds the next message of a subject, and returns an entry once it is complete.
func (j *joiner) add(header nats.Header, data []byte) ([]byte, bool) {
	i, n, hash, ok := parsePart(header)
	if !ok {
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

// storedEntry is a complete entry and the sequence number of its last message.
type storedEntry struct {
	seq  uint64
	data []byte
}

// joinEntries yields the entries of a log. A deleted log ends with ErrDeleted.
func joinEntries(messages iter.Seq2[storedMessage, error]) iter.Seq2[storedEntry, error] {
	return func(yield func(storedEntry, error) bool) {
		var j joiner
		for m, err := range messages {
			if err == nil && m.header.Get(deletedHeader) != "" {
				err = store.ErrDeleted
			}
			if err != nil {
				yield(storedEntry{}, err)
				return
			}
			if data, complete := j.add(m.header, m.data); complete && !yield(storedEntry{m.seq, data}, nil) {
				return
			}
		}
	}
}
