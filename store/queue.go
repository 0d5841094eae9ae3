package store

import (
	"context"
	"encoding/json"
	"time"
)

// Job is work to do for a turn.
type Job struct {
	Conversation string `json:"conversation"`
	Turn         string `json:"turn"`
	// Body is a JSON object of at most 512 KiB, opaque to the store; nil: none.
	Body json.RawMessage `json:"body,omitempty"`
}

// Queue delivers jobs to workers, each at least once. One worker at a time has a
// lease on a due job. The queue does not serialize the jobs of one turn: enqueue
// none while the turn is running, and let the log decide which worker continues.
type Queue interface {
	// Enqueue adds a job that is due now. Without an error the job is durable.
	Enqueue(ctx context.Context, j Job) error
	// Schedule adds a job that becomes due at an instant, never before, and replaces the turn's job that is
	// scheduled already. The schedule survives restarts. A job whose instant has passed is due now: it
	// replaces nothing, and is accepted when the store is too full for Enqueue.
	Schedule(ctx context.Context, j Job, at time.Time) error
	// Unschedule removes the turn's scheduled job. A job that is due stays due.
	Unschedule(ctx context.Context, turn string) error
	// Take waits for the next due job and leases it.
	Take(ctx context.Context) (Lease, error)
}

// Lease is the temporary right to work on a job. It expires 30 s after Take or the last Extend, and the job
// becomes due again. The former holder is not notified: its next append conflicts.
type Lease interface {
	Job() Job
	// Extend restarts the lease's time. Call it every 10 s.
	Extend() error
	// Ack removes the job for good, even after the lease has expired. Append to the log first.
	Ack() error
	// Nack makes the job due again after a delay. A restart may shorten the delay.
	Nack(delay time.Duration) error
}
