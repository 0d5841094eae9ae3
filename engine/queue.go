package engine

import (
	"context"
	"encoding/json"
	"time"
)

// Ticket says that a turn has something to do.
type Ticket struct {
	Conversation string          `json:"conversation"`
	Turn         string          `json:"turn"`
	Key          string          `json:"key,omitempty"`  // offers of one turn with the same key within two minutes are one; "": each is its own
	Body         json.RawMessage `json:"body,omitempty"` // one JSON object of at most 512 KiB, opaque here; nil: none
}

// Queue hands tickets to workers, each at least once. A ticket that is due is
// held by one worker at a time. Two tickets of one turn are two: offer none
// while the turn is running, and let the log decide who goes on.
type Queue interface {
	// Offer makes a ticket due at once. When it returns without an error, the
	// ticket is on the disk.
	Offer(ctx context.Context, t Ticket) error
	// Park makes a ticket due at an instant, never before it, and takes the
	// place of the turn's former parking. It outlives restarts; an instant that
	// passed meanwhile is now. One that has passed already is an offer, for which
	// there is room where there is none for others: a former parking stays.
	Park(ctx context.Context, t Ticket, at time.Time) error
	// Unpark forgets a turn's parking. If it is due already, it stays due.
	Unpark(ctx context.Context, turn string) error
	// Take waits for the next ticket that is due and holds it.
	Take(ctx context.Context) (Claim, error)
}

// Claim is a ticket that is held. It lapses 30 s after it was taken or last
// said to be alive, and then somebody else gets the ticket; nothing here tells
// the former holder, but its next append conflicts.
type Claim interface {
	Ticket() Ticket
	// Alive says that the worker is at it. Say so every 10 s.
	Alive() error
	// Done says that the ticket is never needed again. It is heard from whoever
	// says so, even after the claim has lapsed: append to the log first.
	Done() error
	// Again makes the ticket due again after a while, for anybody. A restart may
	// shorten the while.
	Again(after time.Duration) error
}
