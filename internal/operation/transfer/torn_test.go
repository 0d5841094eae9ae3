package transfer_test

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/store"
)

// torn is an engine where conversation b is damaged.
type torn struct{ store.Store }

func (e torn) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	return func(yield func(store.Head, error) bool) {
		for head, err := range e.Store.Conversations(ctx, before) {
			if head.ID == "b" {
				yield(store.Head{}, &store.Damage{Conversation: "b", N: 1, Why: "torn"})
				return
			}
			if !yield(head, err) {
				return
			}
		}
	}
}
