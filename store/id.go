package store

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

const (
	longestID   = 128
	largestBody = 512 << 10 // of a ticket or of what is published
	largestFact = 64 << 10
	largest     = 32 << 20 // all records of one append
	partitions  = 16
)

// checkID wants the form of ids, which is safe in subjects of the store and in
// the names of files.
func checkID(what, id string) error {
	if len(id) == 0 || len(id) > longestID {
		return fmt.Errorf("%w: an id of a %s has 1 to %d characters, and not %d", ErrInvalid, what, longestID, len(id))
	}
	for part := range strings.SplitSeq(id, ".") {
		if part == "" || strings.ContainsFunc(part, foreign) {
			return fmt.Errorf("%w: an id of a %s has letters, digits, - and _, with single dots inside: %q", ErrInvalid, what, id)
		}
	}
	return nil
}

// foreign tells what has no place in an id.
func foreign(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		return false
	}
	return true
}

// partition gives an id its share of the store, as two digits.
func partition(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("%02d", h.Sum32()%partitions)
}

// checkBody wants a JSON object, or nothing.
func checkBody(body json.RawMessage) error {
	if body == nil {
		return nil
	}
	if len(body) == 0 || body[0] != '{' || !json.Valid(body) || !utf8.Valid(body) {
		return fmt.Errorf("%w: a body is a JSON object in UTF-8", ErrInvalid)
	}
	return nil
}

// checkRecord wants a record that comes back as it was.
func checkRecord(r Record) error {
	if r.Turn != "" {
		if err := checkID("turn", r.Turn); err != nil {
			return err
		}
	}
	if err := checkID("type", r.Type); err != nil {
		return err
	}
	return checkBody(r.Body)
}

// checkTicket wants a ticket that can be found again.
func checkTicket(t Job) error {
	if err := checkID("conversation", t.Conversation); err != nil {
		return err
	}
	if err := checkID("turn", t.Turn); err != nil {
		return err
	}
	if t.Key != "" {
		if err := checkID("key", t.Key); err != nil {
			return err
		}
	}
	if len(t.Body) > largestBody {
		return fmt.Errorf("%w: a ticket of %d bytes", ErrTooLarge, len(t.Body))
	}
	return checkBody(t.Body)
}
