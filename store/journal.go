package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// Record is one entry of a conversation's log.
type Record struct {
	N    int64           `json:"n"`              // its number in the conversation, from 1, without holes; Append sets it
	Time time.Time       `json:"time"`           // when it happened, as the caller says; it comes back in UTC
	Turn string          `json:"turn,omitempty"` // the turn it belongs to; "": to none
	Type string          `json:"type"`           // what it is: opaque here
	Body json.RawMessage `json:"body,omitempty"` // one JSON object, opaque here; it comes back without needless space; nil: none
}

// Position is the end of a log as somebody has read it. It is plain data and
// comparable. The zero Position is the end of a log that is empty.
type Position struct {
	N    int64  // the number of the last record
	Seq  uint64 // where the store has it
	Hash string // of everything up to there
}

// Head is what a list shows of a conversation.
type Head struct {
	ID    string
	End   Position
	First Record
	Last  Record
}

// Log keeps the logs of conversations. A log comes to be with its first
// append.
//
// Ids of conversations, here and below, are 1 to 128 letters, digits, "-" and
// "_", with single dots inside; so are the ids of turns, topics and keys of
// facts.
type Log interface {
	// Append adds records behind at, all or none, and returns the new end. It
	// fails with ErrConflict if the log goes on behind at, and with ErrDeleted
	// if it was deleted. When it returns without an error, the records are on
	// the disk. After any other error they may be there all the same: read
	// again; what was written is found, and what comes late conflicts.
	Append(ctx context.Context, conversation string, at Position, records ...Record) (Position, error)
	// Read yields the records behind a number up to the end that the log has
	// when it begins, or a little more. A *Damage says that one is missing or
	// was changed: it is the last that is yielded. A log that does not exist is
	// empty; one that was deleted is ErrDeleted.
	Read(ctx context.Context, conversation string, after int64) iter.Seq2[Record, error]
	// End gives the end of a log: the zero Position if there is none, and
	// ErrDeleted if it was deleted.
	End(ctx context.Context, conversation string) (Position, error)
	// Conversations yields those whose id is below before, from the highest id
	// down; "" starts at the highest. Ids that begin with their time make that
	// newest first. Deleted ones are left out.
	Conversations(ctx context.Context, before string) iter.Seq2[Head, error]
	// Delete takes a log away for good. What remains is that it was deleted, so
	// that an append of somebody who does not know conflicts. To delete what is
	// not there is no error.
	Delete(ctx context.Context, conversation string) error
}

// Damage says that a log is not what was written: a record is missing, or was
// changed where it is stored.
type Damage struct {
	Conversation string
	N            int64 // the first record that cannot be trusted
	Why          string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("conversation %s is damaged from record %d on: %s", d.Conversation, d.N, d.Why)
}

// Load reads the records behind a number, and the end that belongs to them:
// what is appended there was decided with all of them known.
func Load(ctx context.Context, j Log, conversation string, after int64) ([]Record, Position, error) {
	end, err := j.End(ctx, conversation)
	if err != nil || end.N <= after {
		return nil, end, err
	}
	records := make([]Record, 0, end.N-after)
	for r, err := range j.Read(ctx, conversation, after) {
		if err != nil {
			return records, Position{}, err
		}
		if r.N > end.N {
			break
		}
		records = append(records, r)
	}
	if n := after + int64(len(records)); n < end.N {
		return records, Position{}, &Damage{Conversation: conversation, N: n + 1, Why: "missing"}
	}
	return records, end, nil
}
