package tool

import (
	"context"

	"github.com/ridethrough/ridethrough/turn"
)

type watchKey struct{}

// WithWatch returns a context in which tools report what they wait for: [turn.MCPRetry] and [turn.MCPRecovered].
// watch may be called by several goroutines at once.
func WithWatch(ctx context.Context, watch func(turn.Event)) context.Context {
	return context.WithValue(ctx, watchKey{}, watch)
}

// Report reports an event to the function of [WithWatch], if there is one.
func Report(ctx context.Context, e turn.Event) {
	if watch, ok := ctx.Value(watchKey{}).(func(turn.Event)); ok {
		watch(e)
	}
}
