package conversation

import (
	"context"
	"fmt"
	"iter"

	"github.com/ridethrough/ridethrough/store"
)

// Export yields the records of a conversation as the store has them, up to the last one at the time of the call:
// what [Runner.Restore] puts into another store. The error is last; it is ErrNotFound for a conversation that does
// not exist, and a *store.Damage where records are lost.
func (r *Runner) Export(ctx context.Context, conversation string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		end, err := r.Store.End(ctx, conversation)
		if err == nil && end.N == 0 {
			err = fmt.Errorf("%w: %s", ErrNotFound, conversation)
		}
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		last := int64(0)
		for rec, err := range r.Store.Read(ctx, conversation, 0) {
			last = rec.N
			if !yield(rec, err) || err != nil || last >= end.N {
				return
			}
		}
		yield(store.Record{}, &store.Damage{Conversation: conversation, N: last + 1, Why: "missing"})
	}
}
