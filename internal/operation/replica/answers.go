package replica

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/store"
)

// answers stores the answers whose clients have left in the entries of a store. It implements [gateway.Answers].
type answers struct {
	kv    store.KV
	fleet *fleet.Fleet

	mu     sync.Mutex
	stored []storedAnswer // by this replica
}

// storedAnswer is the size of an answer in the store, and when it expires.
type storedAnswer struct {
	key   string
	bytes int
	until time.Time
}

const (
	mostAnswers = 6 << 20 // bytes of the answers of all replicas
	dropTime    = 5 * time.Second
)

func (a *answers) value(key string) large {
	return large{a.kv, "answer-" + a.fleet.Name + "-" + key}
}

// Keep implements [gateway.Answers]. The replicas share the bound equally.
func (a *answers) Keep(ctx context.Context, key string, answer []byte, ttl time.Duration) error {
	if err := a.reserve(key, len(answer), ttl); err != nil {
		return err
	}
	if err := a.value(key).save(ctx, answer, ttl); err != nil {
		a.forget(key)
		return fmt.Errorf("store answer of %d bytes: %w", len(answer), err)
	}
	return nil
}

func (a *answers) reserve(key string, bytes int, ttl time.Duration) error {
	now, part := a.fleet.Clock.Now(), mostAnswers/a.fleet.Number()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored = slices.DeleteFunc(a.stored, func(s storedAnswer) bool { return s.key == key || !s.until.After(now) })
	sum := 0
	for _, s := range a.stored {
		sum += s.bytes
	}
	if sum+bytes > part {
		return fmt.Errorf("%w: answer of %d bytes beside others of %d, of %d that are this gateway's part", store.ErrTooLarge, bytes, sum, part)
	}
	a.stored = append(a.stored, storedAnswer{key, bytes, now.Add(ttl)})
	return nil
}

func (a *answers) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored = slices.DeleteFunc(a.stored, func(s storedAnswer) bool { return s.key == key })
}

func (a *answers) Get(ctx context.Context, key string) ([]byte, error) {
	return a.value(key).load(ctx)
}

func (a *answers) Drop(key string) {
	a.forget(key)
	a.fleet.Clock.AfterFunc(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), dropTime)
		defer cancel()
		_ = a.value(key).drop(ctx) // it expires
	})
}
