// Package store is the contract for what must outlive a process: one event log per conversation with
// optimistic concurrency ([Log]), a durable job queue with scheduled delivery ([Queue]), transient
// publish/subscribe ([PubSub]) and common entries with a TTL ([KV]). It knows no model, no agent and no HTTP.
// Package conversation is its user.
//
// [Memory] implements the contract inside the process, for tests, package store/bolt in a file of one machine, and
// package store/nats on NATS servers. All pass the suite in store/storetest.
//
// Two guarantees carry the rest. An append names the end of the log that it is based on, and fails if the log
// has grown since. A job is delivered again until it is acknowledged. So the log detects a turn that runs
// twice, and a turn whose worker died runs on another one.
//
// A write that returns without an error is durable. After an error its outcome is unknown: read the log.
package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/store/internal/limit"
)

var (
	// ErrConflict reports that a log has grown past the position of an append,
	// or that an entry has another revision. Read again before another attempt.
	ErrConflict = errors.New("conflicting write")
	// ErrDeleted reports that the conversation was deleted. Its id stays taken.
	ErrDeleted = errors.New("the conversation was deleted")
	// ErrInvalid reports an argument of a form that is never accepted.
	ErrInvalid = limit.ErrInvalid
	// ErrTooLarge reports an argument above its size limit.
	ErrTooLarge = limit.ErrTooLarge
	// ErrFull reports that there is no space for another write. Reads still work,
	// and writes work again once there is space.
	ErrFull = errors.New("the store is full")
	// ErrUnavailable reports that the store's servers did not answer in time. The
	// operation may have taken effect.
	ErrUnavailable = errors.New("the store does not answer")
	// ErrNotOpen reports that the store is being opened, or cannot be opened. The operation has no effect.
	ErrNotOpen = errors.New("the store is not open")
	// ErrInUse reports that another process has the store open.
	ErrInUse = errors.New("the store is in use")
	// ErrClosed reports that the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// Store is a complete store. Its methods may be called concurrently.
type Store interface {
	Log
	Queue
	PubSub
	KV
	Lifecycle
}

// Lifecycle is what an owner of a store does with the whole of it.
type Lifecycle interface {
	// Health returns the store's state.
	Health(ctx context.Context) (Health, error)
	// Snapshot calls use with a copy of the store's file as it is at one moment, which is removed afterwards. A store
	// that is in no file of this machine fails with [errors.ErrUnsupported].
	Snapshot(ctx context.Context, use func(*os.File) error) error
	// Close closes the store. Operations in progress end with ErrClosed. Leases that are still held expire
	// later, so return them first. Closing a closed store is no error.
	Close(ctx context.Context) error
}

// Health is the state of a store.
type Health struct {
	Mode        string        // "memory", "standalone" or "remote"
	Dir         string        // the directory on this machine; "": none
	Server      string        // the server's version; "": there is no server
	Replicas    int           // of everything, on as many servers; 0: not known
	SyncLatency time.Duration // of one fsync, as measured at the start; 0: not known
	Bytes       uint64        // stored
	FreeBytes   uint64        // free on the disk; 0: not known
	Full        bool          // new jobs are refused with ErrFull
	Logs        int64         // conversations, including deleted ones
	Scheduled   int64         // jobs that are not due yet
	Due         int64         // jobs that wait for a worker
	Leased      int64         // jobs that a worker has
	Warnings    []string      // what an operator should look into, in sentences
	Losses      []Loss        // of acknowledged writes, as noticed since the store was opened; oldest first
}

// Loss is what a store has lost after it was acknowledged: messages with records of logs or with jobs.
type Loss struct {
	Noticed      time.Time
	Jobs         bool   // they were jobs; false: records
	First, Last  uint64 // the back end's sequence numbers that the lost messages are among; 0: not known
	Messages     uint64 // how many are lost
	Conversation string // whose records; "": jobs, or not known
	Turn         string // whose jobs; "": records, or not known
	N            int64  // the number of the first lost record of the conversation; 0: not known
}

// String returns the loss as a sentence without a full stop.
func (l Loss) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d acknowledged %s lost", l.Noticed.UTC().Format(time.RFC3339), l.Messages, l.noun())
	if l.Conversation != "" {
		fmt.Fprintf(&b, " of conversation %s", l.Conversation)
	}
	if l.N > 0 {
		fmt.Fprintf(&b, " from record %d on", l.N)
	}
	if l.Turn != "" {
		fmt.Fprintf(&b, " of turn %s", l.Turn)
	}
	switch {
	case l.First == 0:
	case l.First == l.Last:
		fmt.Fprintf(&b, " (number %d of the stream)", l.First)
	default:
		fmt.Fprintf(&b, " (among numbers %d to %d of the stream)", l.First, l.Last)
	}
	return b.String()
}

func (l Loss) noun() string {
	switch {
	case l.Jobs && l.Messages == 1:
		return "job was"
	case l.Jobs:
		return "jobs were"
	case l.Messages == 1:
		return "message was"
	}
	return "messages were"
}
