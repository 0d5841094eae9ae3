package store

import (
	"context"
	"iter"
	"time"
)

// Entry is a value that nodes share, such as the outage of an upstream and the node that probes it.
type Entry struct {
	Key      string
	Value    []byte // at most 64 KiB; empty: there is none
	Revision uint64 // changes with each Put; 0: there is no value
}

// KV stores entries in memory. They survive a node of a cluster, but not the last one.
type KV interface {
	// Get returns the entry of a key. Without one, its Value is nil.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes an entry if the stored one has e.Revision; 0 creates it. It fails
	// with ErrConflict otherwise. An empty Value deletes the entry. The entry
	// expires after ttl, rounded up to whole seconds; 0: never.
	Put(ctx context.Context, e Entry, ttl time.Duration) (Entry, error)
	// Watch yields all entries below a key, then each change and deletion, until ctx
	// ends: below "down" are "down.a" and "down.b.c"; "": all. The last error is the
	// cause. Changes in quick succession may be merged.
	Watch(ctx context.Context, below string) iter.Seq2[Entry, error]
}
