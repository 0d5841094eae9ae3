package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// large is the place of a value that may be too large for one entry of a store. Only one process at a time may save it.
type large struct {
	kv  store.KV
	key string // letters, digits, - and _; those that begin so belong to it
}

const (
	partBytes = 48 << 10
	maxParts  = 256
)

// index is the entry that names the parts of the value. They are written before it, under other keys than those
// before: what can be read is whole.
type index struct {
	Turn  int `json:"turn"` // 0 or 1
	Parts int `json:"parts"`
}

// isValid reports whether an index is one that save has written.
func (x index) isValid() bool { return x.Parts > 0 && x.Parts <= maxParts && x.Turn|1 == 1 }

// part returns the key of a part.
func (v large) part(turn, i int) string { return fmt.Sprintf("%s-%d-%d", v.key, turn, i) }

func (v large) errorOf(step string, err error) error {
	return fmt.Errorf("entry %s: %s: %w", v.key, step, err)
}

// read returns the index, and its entry.
func (v large) read(ctx context.Context) (at index, e store.Entry, err error) {
	if e, err = v.kv.Get(ctx, v.key); err != nil {
		return at, e, v.errorOf("read", err)
	}
	if json.Unmarshal(e.Value, &at) != nil || !at.isValid() {
		at = index{}
	}
	return at, e, nil
}

// load returns the value that was saved last, or nil.
func (v large) load(ctx context.Context) (value []byte, err error) {
	at, _, err := v.read(ctx)
	if err != nil {
		return nil, err
	}
	for i := range at.Parts {
		part, err := v.kv.Get(ctx, v.part(at.Turn, i))
		switch {
		case err != nil:
			return nil, v.errorOf("read", err)
		case part.Value == nil:
			return nil, nil // it is saved anew, or expires
		}
		value = append(value, part.Value...)
	}
	return value, nil
}

// save saves a value in place of the one before. It expires after ttl.
func (v large) save(ctx context.Context, value []byte, ttl time.Duration) error {
	before, e, err := v.read(ctx)
	if err != nil {
		return err
	}
	at := index{Turn: 1 - before.Turn&1}
	for part := range slices.Chunk(value, partBytes) {
		if err := v.put(ctx, v.part(at.Turn, at.Parts), part, ttl); err != nil {
			return err
		}
		at.Parts++
	}
	if e.Value, err = json.Marshal(at); err != nil {
		return v.errorOf("write", err)
	}
	if _, err = v.kv.Put(ctx, e, ttl); err != nil {
		return v.errorOf("write", err)
	}
	return v.deleteParts(ctx, before)
}

// drop deletes the value.
func (v large) drop(ctx context.Context) error {
	at, e, err := v.read(ctx)
	if err != nil || e.Value == nil {
		return err
	}
	e.Value = nil
	if _, err = v.kv.Put(ctx, e, 0); err != nil {
		return v.errorOf("delete", err)
	}
	return v.deleteParts(ctx, at)
}

func (v large) deleteParts(ctx context.Context, of index) error {
	for i := range of.Parts {
		if err := v.put(ctx, v.part(of.Turn, i), nil, 0); err != nil {
			return err
		}
	}
	return nil
}

// put writes an entry over whatever is there.
func (v large) put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	e, err := v.kv.Get(ctx, key)
	if err == nil && (e.Value != nil || value != nil) {
		e.Key, e.Value = key, value
		_, err = v.kv.Put(ctx, e, ttl)
	}
	if err != nil {
		return v.errorOf("write", err)
	}
	return nil
}
