package retry

import "context"

// Nested reports whether ctx belongs to a run already. Code that would retry by
// itself must then send once and return the outcome as it is.
func Nested(ctx context.Context) bool { return ctx.Value(runKey{}) != nil }

// runKey is the key under which the context of a run carries its mark.
type runKey struct{}

// runContext is the context inside a run. It is made for every call: unlike
// context.WithValue it costs one small allocation.
type runContext struct{ context.Context }

// Value returns the mark, and hands every other key on.
func (c runContext) Value(key any) any {
	if key == (runKey{}) {
		return key
	}
	return c.Context.Value(key)
}
