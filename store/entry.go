package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// entry is one append as it is stored. Each names the hash of the one before
// it, so that what is missing or changed is found by reading.
type entry struct {
	N       int64    `json:"n"`              // of the first record
	Prev    string   `json:"prev,omitempty"` // the hash of the entry before
	ID      string   `json:"id"`             // makes the same records of two writers two entries
	Records []Record `json:"records"`
}

// seal writes an entry for a position, and gives the position behind it, which
// lacks only where the store has it.
func seal(conversation string, at Position, records []Record) ([]byte, Position, error) {
	if err := checkID("conversation", conversation); err != nil {
		return nil, at, err
	}
	if len(records) == 0 {
		return nil, at, fmt.Errorf("%w: nothing to append", ErrInvalid)
	}
	e := entry{N: at.N + 1, Prev: at.Hash, ID: rand.Text()[:12], Records: make([]Record, len(records))}
	for i, r := range records {
		if err := checkRecord(r); err != nil {
			return nil, at, err
		}
		r.N, r.Time = e.N+int64(i), r.Time.UTC()
		e.Records[i] = r
	}
	data, err := plain(e)
	if err != nil {
		return nil, at, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(data) > largest {
		return nil, at, fmt.Errorf("%w: an append of %d bytes", ErrTooLarge, len(data))
	}
	return data, Position{N: at.N + int64(len(records)), Hash: digest(conversation, data)}, nil
}

// unseal reads the entry that should stand behind a position. The position
// behind it lacks where the store has it.
func unseal(conversation string, at Position, data []byte) ([]Record, Position, error) {
	damaged := func(why string) ([]Record, Position, error) {
		return nil, at, &Damage{Conversation: conversation, N: at.N + 1, Why: why}
	}
	var e entry
	switch err := json.Unmarshal(data, &e); {
	case err != nil:
		return damaged("it cannot be read: " + err.Error())
	case e.N > at.N+1:
		return damaged(fmt.Sprintf("missing, the next one is %d", e.N))
	case e.N != at.N+1:
		return damaged(fmt.Sprintf("record %d stands in its place", e.N))
	case e.Prev != at.Hash:
		return damaged("what stands before it was changed")
	case len(e.Records) == 0:
		return damaged("empty")
	}
	for i, r := range e.Records {
		if r.N != e.N+int64(i) {
			return damaged(fmt.Sprintf("record %d stands among those from %d on", r.N, e.N))
		}
	}
	return e.Records, Position{N: at.N + int64(len(e.Records)), Hash: digest(conversation, data)}, nil
}

// digest is the hash of an entry in a conversation: who moves it elsewhere has
// changed it.
func digest(conversation string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(conversation))
	h.Write([]byte{0})
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// plain is json.Marshal for data that no browser reads as HTML.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// wholeSeconds rounds up: the store counts lives in seconds.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1) / time.Second * time.Second
}
