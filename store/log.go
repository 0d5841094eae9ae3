package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// Record is one record of a conversation's log.
type Record struct {
	N    int64           `json:"n"`              // its number in the log, from 1, without gaps; Append sets it
	Time time.Time       `json:"time"`           // when it happened, set by the caller; read back in UTC
	Turn string          `json:"turn,omitempty"` // the turn's id; "": none
	Type string          `json:"type"`           // opaque to the store
	Body json.RawMessage `json:"body,omitempty"` // a JSON object, opaque to the store, compacted; nil: none
}

// Position is the end of a log at the time of a read. Positions are comparable.
// The zero Position is the end of an empty log.
type Position struct {
	N    int64  // number of the last record
	Seq  uint64 // the back end's sequence number of the last append
	Hash string // of the log up to here; "": the back end keeps none
}

// Head is the summary of a log in a list.
type Head struct {
	ID    string
	End   Position
	First Record
	Last  Record
}

// Log stores one append-only log per conversation. The first append creates it.
//
// A store on several servers may read a log without its latest records, while a server stalls that was the leader. Only
// an append that succeeds proves that there are no others.
//
// Ids of conversations, turns and topics and keys of entries are 1 to 128
// letters, digits, "-" and "_", with single dots inside.
type Log interface {
	// Append adds all records behind at, or none, and returns the new end. It fails with ErrConflict if at is
	// not the end of the log, and with ErrDeleted if the log was deleted. Without an error the records are
	// durable. After any other error they may have been written: read the log again.
	Append(ctx context.Context, conversation string, at Position, records ...Record) (Position, error)
	// Read yields the records with numbers above after, up to at least the end of the log at the time of the
	// call. A missing or changed record among them ends it with a *Damage, which says where to read on. A log
	// that does not exist is empty; a deleted one ends with ErrDeleted.
	Read(ctx context.Context, conversation string, after int64) iter.Seq2[Record, error]
	// End returns the end of a log, or ErrDeleted. It is the zero Position for a log that does not exist.
	End(ctx context.Context, conversation string) (Position, error)
	// Conversations yields the logs with an id below before, in descending order of ids; "" starts at the
	// highest. Ids that begin with a time sort newest first. Deleted logs are left out.
	Conversations(ctx context.Context, before string) iter.Seq2[Head, error]
	// Delete removes a log for good. A deletion mark remains, so that later
	// appends fail. Deleting a log that does not exist is no error.
	Delete(ctx context.Context, conversation string) error
}

// Damage is the error for a log with a record that is missing or was changed in storage.
type Damage struct {
	Conversation string
	N            int64 // the first record that cannot be trusted
	Next         int64 // the first one behind it that can be: Read with Next-1 yields it; 0: there is none
	Why          string
}

// Error names the conversation, the records and the reason.
func (d *Damage) Error() string {
	if d.Next > d.N+1 {
		return fmt.Sprintf("conversation %s is damaged in records %d to %d: %s", d.Conversation, d.N, d.Next-1, d.Why)
	}
	if d.Next > 0 {
		return fmt.Sprintf("conversation %s is damaged in record %d: %s", d.Conversation, d.N, d.Why)
	}
	return fmt.Sprintf("conversation %s is damaged from record %d on: %s", d.Conversation, d.N, d.Why)
}

// Load returns the records with numbers above after, and the end of the log that they lead to, or ErrUnavailable if
// there are fewer: another server has answered. With a *Damage it returns the records before it, and the end that the
// log had before they were read: records after that may have been appended since.
func Load(ctx context.Context, l Log, conversation string, after int64) ([]Record, Position, error) {
	end, err := l.End(ctx, conversation)
	if err != nil || end.N <= after {
		return nil, end, err
	}
	records := make([]Record, 0, end.N-after)
	for r, err := range l.Read(ctx, conversation, after) {
		if err != nil {
			return records, end, err
		}
		if r.N > end.N {
			break
		}
		records = append(records, r)
	}
	if n := after + int64(len(records)); n < end.N {
		return nil, end, fmt.Errorf("%w: read records up to %d of a log that ends at %d", ErrUnavailable, n, end.N)
	}
	return records, end, nil
}
