package ratelimit

import "context"

// contextKey is the key of a flow in a context.
type contextKey struct{}

// flowName is a flow of a caller.
type flowName struct {
	name  string
	agent bool
}

// WithFlow returns a context whose requests have their turn as those of a flow, such as a session, or an agent, which
// works by itself. For transport.Transport.
func WithFlow(ctx context.Context, name string, agent bool) context.Context {
	return context.WithValue(ctx, contextKey{}, flowName{name, agent})
}

// FlowOf returns the flow of a context, and whether it has one.
func FlowOf(ctx context.Context) (name string, agent bool) {
	f, _ := ctx.Value(contextKey{}).(flowName)
	return f.name, f.agent
}
