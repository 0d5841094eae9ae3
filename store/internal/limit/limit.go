// Package limit has the limits that every implementation of store.Store applies.
package limit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The times and sizes that several packages apply.
const (
	Lease  = 30 * time.Second // how long a lease lasts without Extend
	Dedupe = 2 * time.Minute  // how long the id of a message is remembered
	Append = 32 << 20         // bytes of all records of one append

	idLength = 128
	body     = 512 << 10 // bytes of a job's body or a published message
	value    = 64 << 10  // bytes of an entry's value
)

var (
	// ErrInvalid is store.ErrInvalid.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge is store.ErrTooLarge.
	ErrTooLarge = errors.New("too large")
)

// ID checks the form of an id, which is safe in subjects and in file names.
func ID(kind, id string) error {
	if len(id) == 0 || len(id) > idLength {
		return fmt.Errorf("%w: %s id has %d characters, want 1 to %d", ErrInvalid, kind, len(id), idLength)
	}
	for part := range strings.SplitSeq(id, ".") {
		if part == "" || strings.ContainsFunc(part, notInID) {
			return fmt.Errorf("%w: %s id %q, want letters, digits, - and _, with single dots inside", ErrInvalid, kind, id)
		}
	}
	return nil
}

func notInID(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		return false
	}
	return true
}

// optionalID is ID for an id that may be empty.
func optionalID(kind, id string) error {
	if id == "" {
		return nil
	}
	return ID(kind, id)
}

// Body checks that a body is nil or a JSON object.
func Body(body json.RawMessage) error {
	if body != nil && (len(body) == 0 || body[0] != '{' || !json.Valid(body) || !utf8.Valid(body)) {
		return fmt.Errorf("%w: a body must be a JSON object in UTF-8", ErrInvalid)
	}
	return nil
}

// Record checks the parts of a store.Record that a caller sets.
func Record(turn, kind string, at time.Time, body json.RawMessage) error {
	if y := at.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("%w: year %d of a record", ErrInvalid, y)
	}
	return cmp.Or(optionalID("turn", turn), ID("type", kind), Body(body))
}

// Job checks the parts of a store.Job.
func Job(conversation, turn string, data json.RawMessage) error {
	if len(data) > body {
		return fmt.Errorf("%w: job of %d bytes", ErrTooLarge, len(data))
	}
	return cmp.Or(ID("conversation", conversation), ID("turn", turn), Body(data))
}

// Message checks what is published on a topic.
func Message(topic string, data []byte) error {
	if len(data) > body {
		return fmt.Errorf("%w: message of %d bytes", ErrTooLarge, len(data))
	}
	return ID("topic", topic)
}

// Entry checks the parts of a store.Entry.
func Entry(key string, data []byte) error {
	if len(data) > value {
		return fmt.Errorf("%w: entry of %d bytes", ErrTooLarge, len(data))
	}
	return ID("key", key)
}

// Below checks the key below which entries are watched; "": all are.
func Below(key string) error { return optionalID("key", key) }

// TTL rounds a time to live up to whole seconds.
func TTL(d time.Duration) time.Duration {
	return (d + time.Second - 1) / time.Second * time.Second
}
