package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// lostError is a fault of the server or of the way to it, after which it is worth another try.
type lostError struct {
	err  error
	sent bool // a call may have been carried out
}

// Error returns the text of the error.
func (e *lostError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *lostError) Unwrap() error { return e.err }

// defaultTimeout is that of a tool without one, as of [tool.Tool].
const defaultTimeout = 2 * time.Minute

// retries returns the server's policy, bounded for calls.
func (s Server) retries() policy.Policy {
	p, most := s.Retry, cmp.Or(s.Timeout, defaultTimeout)*3/4
	if p.MaxWait == 0 || p.MaxWait > most {
		p.MaxWait = most
	}
	return p
}

// withRetries tries again as the server's policy says, while the error is a *lostError. Its own error is that of
// the last try.
func withRetries[T any](ctx context.Context, m *Client, try func(context.Context) (T, error)) (T, error) {
	var last error
	r := retry.Retrier{
		Policy: m.server.retries(),
		OnWait: func(w policy.Wait) { tool.Report(ctx, turn.MCPRetry{Server: m.server.Name, Wait: w}) },
		OnTry: func(t retry.Try) {
			if t.Recovered() {
				tool.Report(ctx, turn.MCPRecovered{Server: m.server.Name, Retries: t.Run.Tries, Waited: t.Waited})
			}
		},
	}
	v, err := retry.Do(ctx, r, func(ctx context.Context, _ int) (v T, err error) {
		v, last = try(ctx)
		switch lost, ok := errors.AsType[*lostError](last); {
		case last == nil:
			return v, nil
		case ok:
			return v, retry.Transient(lost)
		}
		return v, retry.Permanent(last)
	})
	switch e, stopped := errors.AsType[*retry.Error](err); {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return v, context.Cause(ctx)
	case stopped && e.Tries > 1:
		return v, fmt.Errorf("the MCP server did not answer in %d tries: %w", e.Tries, last)
	}
	return v, last
}
