// Package historykv keeps the history of a gateway in the entries of a store, which are on NATS servers: as long as
// one of these runs.
package historykv

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ridethrough/ridethrough/store"
)

// Keeper is a history.Keeper.
type Keeper struct {
	KV   store.KV
	Name string // of the history: letters, digits, - and _
}

const (
	partBytes = 48 << 10
	maxParts  = 256
	maxText   = 64 << 20
)

// index is the entry that names the parts of the text. They are written before it, under other keys than those
// before: what can be read is whole.
type index struct {
	Turn  int `json:"turn"` // 0 or 1
	Parts int `json:"parts"`
}

// isValid reports whether an index is one that Save has written.
func (x index) isValid() bool { return x.Parts > 0 && x.Parts <= maxParts && x.Turn|1 == 1 }

// key returns the key of the index.
func (k Keeper) key() string { return "history-" + k.Name }

// part returns the key of a part.
func (k Keeper) part(turn, i int) string { return fmt.Sprintf("%s-%d-%d", k.key(), turn, i) }

// errorOf returns the error of a step of Save.
func errorOf(step string, err error) error { return fmt.Errorf("keep history: %s: %w", step, err) }

// Load implements history.Keeper. A text that is damaged is none.
func (k Keeper) Load(ctx context.Context) ([]byte, error) {
	e, err := k.KV.Get(ctx, k.key())
	var at index
	if err != nil || json.Unmarshal(e.Value, &at) != nil || !at.isValid() {
		return nil, err
	}
	var packed bytes.Buffer
	for i := range at.Parts {
		e, err := k.KV.Get(ctx, k.part(at.Turn, i))
		if err != nil {
			return nil, err
		}
		packed.Write(e.Value)
	}
	r, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText))
	if err != nil {
		return nil, nil
	}
	return text, nil
}

// Save implements history.Keeper.
func (k Keeper) Save(ctx context.Context, text []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return errorOf("compress", err)
	}
	e, err := k.KV.Get(ctx, k.key())
	if err != nil {
		return errorOf("read", err)
	}
	var at index
	_ = json.Unmarshal(e.Value, &at) // there is none, or it is replaced
	at = index{Turn: 1 - at.Turn&1}
	for part := packed.Next(partBytes); len(part) > 0; part = packed.Next(partBytes) {
		if at.Parts == maxParts {
			return errorOf("write", store.ErrTooLarge)
		}
		if err := k.put(ctx, k.part(at.Turn, at.Parts), part); err != nil {
			return err
		}
		at.Parts++
	}
	value, err := json.Marshal(at)
	if err != nil {
		return errorOf("write", err)
	}
	e.Key, e.Value = k.key(), value
	if _, err = k.KV.Put(ctx, e, 0); err != nil {
		return errorOf("write", err)
	}
	return nil
}

// put writes an entry over whatever is there.
func (k Keeper) put(ctx context.Context, key string, value []byte) error {
	e, err := k.KV.Get(ctx, key)
	if err == nil {
		e.Key, e.Value = key, bytes.Clone(value)
		_, err = k.KV.Put(ctx, e, 0)
	}
	if err != nil {
		return errorOf("write", err)
	}
	return nil
}
