package store

import (
	"context"
	"iter"
	"time"
)

// Message is what came on a topic: the records of one append to the conversation
// of that name, or the data of one Publish.
type Message struct {
	Records []Record
	Data    []byte
	Gap     bool // something that came before this is missing: read the log
}

// PubSub carries what is kept nowhere to whoever listens now, and what is
// appended to logs as well.
type PubSub interface {
	// Publish sends data of at most 512 KiB to all who listen to a topic.
	Publish(ctx context.Context, topic string, data []byte) error
	// Subscribe hears a topic from when it returns until ctx ends or the engine is
	// closed, which closes the channel. Who is slow loses the oldest and is told
	// so; nobody waits for a listener. Appends come in their order, and so does
	// what one sender publishes.
	Subscribe(ctx context.Context, topic string) (<-chan Message, error)
}

// Entry is something that nodes share for a while, such as until when an
// upstream is out and who probes it.
type Entry struct {
	Key     string
	Value   []byte // at most 64 KiB; empty: there is none
	Version uint64 // of which Put makes the next one
}

// KV keeps facts. They are in memory: they outlive a node of a cluster,
// not the last one.
type KV interface {
	// Get gives a fact. One that there is not has no Value.
	Get(ctx context.Context, key string) (Entry, error)
	// Put replaces the version that f has, or makes a fact if f.Version is 0 and
	// there is none; an empty value takes it away. It fails with ErrConflict if there is
	// another version. After life, in whole seconds rounded up, the fact is
	// gone; 0: it stays.
	Put(ctx context.Context, f Entry, life time.Duration) (Entry, error)
	// Watch yields the facts there are, and then each that changes or goes,
	// until ctx ends, whose cause is yielded last. Changes in quick succession
	// may be seen as one.
	Watch(ctx context.Context) iter.Seq2[Entry, error]
}
