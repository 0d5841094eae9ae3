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

// maxParallel is how many tools run side by side.
const maxParallel = 8

// job is a tool to be run for a call.
type job struct {
	tool tool.Tool
	call llm.ToolCall
}

// useTools has the tools answer the calls that have no result. What reads runs side
// by side; what writes runs by itself, in the order of the calls, since the
// second may build on the first.
func (r *run) useTools(calls []turn.Call) error {
	var reads []job
	for _, c := range calls {
		t, err := r.findTool(c)
		if r.ctx.Err() != nil {
			return r.stopped()
		}
		j := job{t, c.ToolCall}
		switch {
		case err != nil:
			err = r.refuse(c, err)
		case t.Writes:
			err = r.inOrder(reads, j)
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

// inOrder runs what reads, and then what writes.
func (r *run) inOrder(reads []job, write job) error {
	if err := r.runTools(reads); err != nil {
		return err
	}
	return r.runTools([]job{write})
}

// refuse answers a call in the place of the tool.
func (r *run) refuse(c turn.Call, why error) error {
	return r.keep(turn.ToolResult{ToolResult: llm.ToolResult{ID: c.ID, Name: c.Name, Output: why.Error(), Failed: true}})
}

// findTool finds the tool for a call, or the reason why it is not run. One that
// may have been run already, by a worker that died of it, is run again only
// if that does no harm.
func (r *run) findTool(c turn.Call) (tool.Tool, error) {
	i := slices.IndexFunc(r.Tools, func(t tool.Tool) bool { return t.Name == c.Name })
	if i < 0 {
		return tool.Tool{}, fmt.Errorf("there is no tool named %q", c.Name)
	}
	t := r.Tools[i]
	switch {
	case c.Begun && !t.Repeatable():
		return t, errors.New("this was interrupted; whether it has taken effect is not known, so look before you try again")
	case !t.Writes:
		return t, nil
	case r.Approve == nil:
		return t, errors.New("this tool may change something, and there is nobody to allow it")
	}
	if err := r.Approve(r.ctx, c.ToolCall); err != nil {
		return t, fmt.Errorf("not allowed: %w", err)
	}
	return t, nil
}

// runTools runs tools side by side and keeps each result as it comes. Those under
// way when the turn is stopped are told so, and waited for.
func (r *run) runTools(jobs []job) error {
	if len(jobs) == 0 || r.ctx.Err() != nil {
		return nil // whoever has stopped the turn is told so where it ends
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
	results := make(chan llm.ToolResult, len(jobs))
	free := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	defer all.Wait()
	for _, j := range jobs {
		r.reportActivity(ToolRun)
		all.Go(func() {
			free <- struct{}{}
			results <- j.tool.Run(ctx, j.call)
			<-free
		})
	}
	var err error
	for range jobs {
		result := <-results
		if err != nil || r.interrupted(result) {
			continue
		}
		if err = r.keep(turn.ToolResult{ToolResult: result}); err != nil {
			cancel(err)
		}
	}
	return err
}

// interrupted tells whether a result only says that the turn was handed back:
// whoever goes on with it has the tool run again, if that does no harm.
func (r *run) interrupted(result llm.ToolResult) bool {
	return result.Failed && errors.Is(context.Cause(r.ctx), retry.ErrParked)
}
