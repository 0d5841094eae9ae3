package archive_test

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/engine"
)

// torn is an engine where conversation b is damaged.
type torn struct{ engine.Engine }

func (e torn) Conversations(ctx context.Context, before string) iter.Seq2[engine.Head, error] {
	return func(yield func(engine.Head, error) bool) {
		for head, err := range e.Engine.Conversations(ctx, before) {
			if head.ID == "b" {
				yield(engine.Head{}, &engine.Damage{Conversation: "b", N: 1, Why: "torn"})
				return
			}
			if !yield(head, err) {
				return
			}
		}
	}
}
