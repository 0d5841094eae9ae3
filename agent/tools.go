package agent

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// atOnce is how many tools run side by side.
const atOnce = 8

// job is a tool to be run for a call.
type job struct {
	tool tool.Tool
	call llm.ToolCall
}

// use has the tools answer the calls that have no result.
func (r *run) use(calls []turn.Call) error {
	var jobs []job
	for _, c := range calls {
		t, err := r.may(c)
		if r.ctx.Err() != nil {
			return r.stopped()
		}
		if err == nil {
			jobs = append(jobs, job{t, c.ToolCall})
			continue
		}
		refused := llm.ToolResult{ID: c.ID, Name: c.Name, Output: err.Error(), Failed: true}
		if err := r.keep(turn.ToolResult{ToolResult: refused}); err != nil {
			return err
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	return r.work(jobs)
}

// may finds the tool for a call, or the reason why it is not run. One that
// may have been run already, by a worker that died of it, is run again only
// if that does no harm.
func (r *run) may(c turn.Call) (tool.Tool, error) {
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

// work runs tools side by side and keeps each result as it comes. Those under
// way when the turn is stopped are told so, and waited for.
func (r *run) work(jobs []job) error {
	events := make([]turn.Event, len(jobs))
	for i, j := range jobs {
		events[i] = turn.ToolCall{ToolCall: j.call}
	}
	if err := r.keep(events...); err != nil {
		return err
	}
	results := make(chan llm.ToolResult, len(jobs))
	var wg sync.WaitGroup
	defer wg.Wait()
	free := make(chan struct{}, atOnce)
	for _, j := range jobs {
		r.act(ToolRun)
		wg.Go(func() {
			free <- struct{}{}
			results <- j.tool.Run(r.ctx, j.call)
			<-free
		})
	}
	var err error
	for range jobs {
		result := turn.ToolResult{ToolResult: <-results}
		if err == nil {
			err = r.keep(result)
		}
	}
	return err
}
