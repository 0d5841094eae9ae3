package retry

import "context"

// Nested tells whether ctx belongs to a run already. What would retry by
// itself must then send once and hand the outcome on as it is.
func Nested(ctx context.Context) bool { return ctx.Value(mark{}) != nil }

// mark is the key under which a run's context carries the sign of the run.
type mark struct{}

// marked is a context inside a run. It is a type of its own, and no
// context.WithValue, because it is made for every call: this way it costs one
// small allocation.
type marked struct{ context.Context }

// Value answers for the mark and passes every other key on.
func (m marked) Value(key any) any {
	if key == (mark{}) {
		return key
	}
	return m.Context.Value(key)
}
