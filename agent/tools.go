package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// maxParallel is how many tools run at the same time.
const maxParallel = 8

// job is a call and its tool.
type job struct {
	tool tool.Tool
	call llm.ToolCall
}

// useTools runs the tools of the calls that have no result. Tools that read run in parallel. Those that write
// run one by one in the order of the calls, since the second may depend on the first.
func (r *run) useTools(calls []turn.Call) error {
	var reads []job
	for _, c := range calls {
		t, err := r.findTool(c)
		if end, ok := errors.AsType[*ending](err); ok {
			return end.error
		}
		if r.ctx.Err() != nil {
			return r.stopped()
		}
		j := job{t, c.ToolCall}
		switch {
		case err != nil:
			err = r.keep(turn.ToolResult{ToolResult: llm.ToolResult{ID: c.ID, Name: c.Name, Output: err.Error(), Failed: true}})
		case t.Writes:
			if err = r.runTools(reads); err == nil {
				err = r.runTools([]job{j})
			}
			reads = nil
		default:
			reads = append(reads, j)
		}
		if err != nil {
			return err
		}
	}
	return r.runTools(reads)
}

// findTool returns the tool of a call, or the reason why it is not run. A tool that
// a dead worker may have run already runs again only if it is repeatable.
func (r *run) findTool(c turn.Call) (tool.Tool, error) {
	i := slices.IndexFunc(r.Tools, func(t tool.Tool) bool { return t.Name == c.Name })
	if i < 0 {
		return tool.Tool{}, fmt.Errorf("there is no tool named %q", c.Name)
	}
	t := r.Tools[i]
	switch permission := r.Rules.Of(t); {
	case permission == tool.Deny:
		return t, errors.New("not allowed: the configuration denies this tool")
	case c.Begun && !t.Repeatable():
		return t, errors.New("this was interrupted; whether it has taken effect is not known, so look before you try again")
	case permission == tool.Allow, r.state.AlwaysAllowed(t.Name):
		return t, nil
	case r.Approve == nil:
		return t, errors.New("not allowed: this tool needs a user's approval, and there is none to ask")
	}
	return t, r.approve(c)
}

// runTools runs tools in parallel and keeps each result as it arrives. When the
// turn is stopped, the context of running tools ends, and they are waited for.
func (r *run) runTools(jobs []job) error {
	if len(jobs) == 0 || r.ctx.Err() != nil {
		return nil // the turn is stopped
	}
	events := make([]turn.Event, len(jobs))
	for i, j := range jobs {
		events[i] = turn.ToolCall{ToolCall: j.call}
	}
	if err := r.keep(events...); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	results, waits := make(chan llm.ToolResult, len(jobs)), make(chan turn.Event)
	free := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	defer all.Wait()
	for _, j := range jobs {
		r.reportActivity(ToolRun)
		all.Go(func() {
			free <- struct{}{}
			results <- j.tool.Run(watched(ctx, waits, j.call.ID), j.call)
			<-free
		})
	}
	var err error
	for left := len(jobs); left > 0; left-- {
		result := r.nextResult(results, waits)
		if err != nil || r.interrupted(result) {
			continue
		}
		if err = r.keep(turn.ToolResult{ToolResult: result}); err != nil {
			cancel(err)
		}
	}
	return err
}

// watched returns a context in which a tool's waits are sent to a channel, with the id of its call, until ctx ends.
func watched(ctx context.Context, waits chan<- turn.Event, call string) context.Context {
	return tool.WithWatch(ctx, func(e turn.Event) {
		switch wait := e.(type) {
		case turn.MCPRetry:
			wait.Call = call
			e = wait
		case turn.MCPRecovered:
			wait.Call = call
			e = wait
		}
		select {
		case waits <- e:
		case <-ctx.Done():
		}
	})
}

// nextResult returns the next result, and yields what tools wait for until then.
func (r *run) nextResult(results <-chan llm.ToolResult, waits <-chan turn.Event) llm.ToolResult {
	for {
		select {
		case result := <-results:
			return result
		case e := <-waits:
			_ = r.show(e) // a reader that left is noticed later
		}
	}
}

// interrupted reports whether a result only says that the turn was handed back:
// the next worker runs the tool again if it is repeatable.
func (r *run) interrupted(result llm.ToolResult) bool {
	return result.Failed && errors.Is(context.Cause(r.ctx), retry.ErrParked)
}
