// Package tool is what a model may call: Go functions and the files below a folder. Package mcp below it
// adds the tools of MCP servers.
//
// Whatever a tool does, [Tool.Run] returns a result that the model can read: in time, bounded, and with the
// reason of a failure. A failed tool does not fail the turn, so nothing here returns an error to the agent,
// and nothing is run twice. Package agent decides whether a tool may run at all, by [Tool.Writes].
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/llm"
)

// Tool is a function for a model, and how it is run. It may run several times at once.
type Tool struct {
	llm.Tool // how the model sees it

	Writes     bool          // it may change something: the user is asked first
	Idempotent bool          // it writes, but running it twice has the effect of once
	Timeout    time.Duration // limit of a run; 0: two minutes
	MaxOutput  int           // bytes; 0: 64 KiB. A longer output loses its middle, and a line says how much

	// Func does the work. The arguments are a JSON object, not yet validated against Schema. An error makes a
	// failed result that contains both the output and the error. Func must end when ctx does: see Run.
	Func func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// Repeatable reports whether the tool may run again if it is not known whether it has run.
func (t Tool) Repeatable() bool { return !t.Writes || t.Idempotent }

const (
	defaultTimeout   = 2 * time.Minute
	grace            = 50 * time.Millisecond // for a Func to return once its time is over
	defaultMaxOutput = 64 << 10
)

var (
	errAbandoned = errors.New("it does not stop and was left behind, so it may still be running")
	errExit      = errors.New("the tool ended its own goroutine")
)

// Run runs the tool for a call. It always returns the call's result, at the latest 50 ms after Timeout or the
// end of ctx: a Func that continues regardless is left behind in its goroutine, and the result says so. A
// panic in Func is a failed result as well. The output is valid UTF-8; invalid bytes become question marks.
func (t Tool) Run(ctx context.Context, call llm.ToolCall) llm.ToolResult {
	output, err := t.run(ctx, call.Arguments)
	if err != nil {
		output = strings.TrimPrefix(output+"\n"+err.Error(), "\n")
	}
	return llm.ToolResult{ID: call.ID, Name: call.Name, Output: truncate(output, t.MaxOutput), Failed: err != nil}
}

func (t Tool) run(ctx context.Context, arguments json.RawMessage) (string, error) {
	arguments, err := argumentsObject(arguments)
	if err != nil {
		return "", err
	}
	limit := t.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	if ctx.Err() != nil {
		return "", fmt.Errorf("it was not run: %w", context.Cause(ctx))
	}
	answer := make(chan funcResult, 1)
	go t.call(ctx, arguments, answer)
	select {
	case o := <-answer:
		return o.output, t.stopReason(ctx, o.err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	select {
	case o := <-answer:
		return o.output, t.stopReason(ctx, o.err)
	case <-late.Done():
		return "", t.stopReason(ctx, errAbandoned)
	}
}

// stopReason returns the reason of a run that was stopped, and tells the model what that leaves open.
func (t Tool) stopReason(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	why := fmt.Errorf("stopped: %w", context.Cause(ctx))
	if errors.Is(err, errAbandoned) {
		why = fmt.Errorf("%w; %w", why, err)
	}
	if !t.Repeatable() {
		why = fmt.Errorf("%w; its effects until then are not known", why)
	}
	return why
}

// funcResult is what a Func returns.
type funcResult struct {
	output string
	err    error
}

// call sends what Func returns, however it ends.
func (t Tool) call(ctx context.Context, arguments json.RawMessage, answer chan<- funcResult) {
	o := funcResult{err: errExit}
	defer func() {
		if p := recover(); p != nil {
			o = funcResult{err: fmt.Errorf("the tool panicked%s: %v", panicSite(), p)}
		}
		answer <- o
	}()
	o.output, o.err = t.Func(ctx, arguments)
}

// panicSite returns the line that panicked. The function that recovers must call it.
func panicSite() string {
	stack := make([]uintptr, 16)
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// argumentsObject returns the arguments in the form that Func expects.
func argumentsObject(arguments json.RawMessage) (json.RawMessage, error) {
	text := bytes.TrimSpace(arguments)
	if len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}"), nil
	}
	var written string
	if json.Unmarshal(text, &written) == nil { // invalid JSON is a JSON string in package llm
		text = []byte(written)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	return text, nil
}
