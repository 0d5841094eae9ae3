// Package store keeps what must outlive a process: the logs of conversations,
// a queue of turns with instants at which they fall due, and facts that nodes
// share for a while. It also carries what needs no keeping, to whoever listens
// now. It knows no model, no agent and no HTTP; package conversation is its user.
//
// There is one [Store] in three forms: [Memory] for tests, which is gone with
// the process; an embedded server that keeps its store in a directory; and an
// existing cluster. All of them hold to one suite of tests.
//
// Two promises carry all others. An append is fenced: it states the end of the
// log it was made for, and if the log has gone on since, nothing is written.
// And a ticket is offered again until somebody says that it is done. So a turn
// that is run twice by mistake is found out by its log, and a turn whose
// worker died is run by another one.
//
// What is acknowledged is on the disk. What was not may have happened all the
// same: read the log.
package store

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrConflict says that the log goes on behind the position that an append
	// was made for, or that a fact has changed: read again, then decide anew.
	ErrConflict = errors.New("somebody else was first")
	// ErrDeleted says that the conversation was deleted. Its id stays taken.
	ErrDeleted = errors.New("the conversation was deleted")
	// ErrInvalid says that an argument can never be taken: an id, a key or a
	// record of a form that is not allowed.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge says that something is beyond a bound of its size.
	ErrTooLarge = errors.New("too large")
	// ErrFull says that there is no room to keep anything more. Reading goes on
	// to work, and so does writing once there is room.
	ErrFull = errors.New("no room left in the store")
	// ErrUnavailable says that the store's servers do not answer, or not in time.
	// What was asked for may have happened.
	ErrUnavailable = errors.New("the store does not answer")
	// ErrInUse says that another process has the store.
	ErrInUse = errors.New("the store is in use")
	// ErrMode says that the store in a directory is of a process that is alone
	// and was opened for a cluster, or the other way. To change that, export and
	// import.
	ErrMode = errors.New("the store is of another kind")
	// ErrVersion says that a server is too old.
	ErrVersion = errors.New("the server is too old")
	// ErrClosed says that the engine was closed.
	ErrClosed = errors.New("the engine is closed")
)

// Store is a store and what goes with it. Everything may be used by many
// goroutines at the same time.
type Store interface {
	Log
	Queue
	PubSub
	KV
	// Health tells how the store does.
	Health(ctx context.Context) (Health, error)
	// Close ends the engine, and everything under way with ErrClosed. Claims
	// that are still held come back when their lease has run out, so hand them
	// back before. To close it twice is no error.
	Close(ctx context.Context) error
}

// Health is how a store does.
type Health struct {
	Mode    string        // "memory", "alone", "cluster" or "remote"
	Dir     string        // where the store is; "": not here
	Server  string        // the server's version; "": there is none
	Sync    time.Duration // how long the disk takes to make a write last, as measured at the start; 0: not known
	Bytes   uint64        // what the store holds
	Limit   uint64        // what it may hold; 0: not known
	Free    uint64        // what the disk has free; 0: not known
	Full    bool          // new turns are refused with ErrFull
	Logs    int64         // conversations, the deleted ones too
	Parked  int64         // tickets that wait for their instant
	Due     int64         // tickets that wait for a worker
	Held    int64         // tickets that a worker has
	Trouble []string      // what somebody should look after, in sentences
}
