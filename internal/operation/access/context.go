package access

import "context"

// scopeKey is the key of a scope in a context.
type scopeKey struct{}

// WithScope returns the context of a request whose sender has a scope.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns the scope of a request's sender; 0: none is known.
func ScopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}
