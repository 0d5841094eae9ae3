package store

import (
	"context"
	"encoding/json"
	"time"
)

// Job says that a turn has something to do.
type Job struct {
	Conversation string          `json:"conversation"`
	Turn         string          `json:"turn"`
	Key          string          `json:"key,omitempty"`  // offers of one turn with the same key within two minutes are one; "": each is its own
	Body         json.RawMessage `json:"body,omitempty"` // one JSON object of at most 512 KiB, opaque here; nil: none
}

// Queue hands tickets to workers, each at least once. A ticket that is due is
// held by one worker at a time. Two tickets of one turn are two: offer none
// while the turn is running, and let the log decide who goes on.
type Queue interface {
	// Enqueue makes a ticket due at once. When it returns without an error, the
	// ticket is on the disk.
	Enqueue(ctx context.Context, t Job) error
	// Schedule makes a ticket due at an instant, never before it, and takes the
	// place of the turn's former parking. It outlives restarts; an instant that
	// passed meanwhile is now. One that has passed already is an offer, for which
	// there is room where there is none for others: a former parking stays.
	Schedule(ctx context.Context, t Job, at time.Time) error
	// Unschedule forgets a turn's parking. If it is due already, it stays due.
	Unschedule(ctx context.Context, turn string) error
	// Take waits for the next ticket that is due and holds it.
	Take(ctx context.Context) (Lease, error)
}

// Lease is a ticket that is held. It lapses 30 s after it was taken or last
// said to be alive, and then somebody else gets the ticket; nothing here tells
// the former holder, but its next append conflicts.
type Lease interface {
	Job() Job
	// Extend says that the worker is at it. Say so every 10 s.
	Extend() error
	// Done says that the ticket is never needed again. It is heard from whoever
	// says so, even after the claim has lapsed: append to the log first.
	Done() error
	// Nack makes the ticket due again after a while, for anybody. A restart may
	// shorten the while.
	Nack(after time.Duration) error
}
