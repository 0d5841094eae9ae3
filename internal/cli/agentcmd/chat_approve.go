package agentcmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
)

// approve asks the user whether a tool may change things. Without an answer, the
// user is asked again when the conversation is continued.
func (c *chatCmd) approve(ctx context.Context, call llm.ToolCall) error {
	answer := make(chan bool, 1)
	one := tui.Approval{Call: call, Answer: func(allow bool) {
		select {
		case answer <- allow:
		default:
		}
	}}
	select {
	case c.approvals <- one:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case allowed := <-answer:
		if allowed {
			return nil
		}
		return errors.New("denied by the user")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// appendTo opens a file for appending, readable by its owner only.
func appendTo(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}
