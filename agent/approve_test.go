package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// allowOnce approves every call.
func allowOnce(context.Context, turn.ApprovalRequested) (turn.Decision, error) {
	return turn.AllowOnce, nil
}

// counted is a tool that writes and counts its runs.
func counted(runs *int) tool.Tool {
	return tool.Tool{Tool: llm.Tool{Name: "write"}, Writes: true, Func: func(context.Context, json.RawMessage) (string, error) {
		*runs++
		return fmt.Sprintf("run %d", *runs), nil
	}}
}

func TestApprove_ParkedTurnRunsTheCallOnceWhenItIsAnswered(t *testing.T) {
	for decision, want := range map[turn.Decision]string{
		turn.AllowOnce: "run 1", turn.AllowAlways: "run 1", turn.Deny: "not allowed: denied by the user", turn.Expired: "not allowed: the user has not answered in time",
	} {
		synctest.Test(t, func(t *testing.T) {
			runs, asked := 0, 0
			w := agent.Agent{
				Model: llmtest.New(large, llmtest.Calls(llmtest.Call("1", "write", "{}")), llmtest.Says("ok")), Tools: []tool.Tool{counted(&runs)}, ApprovalTime: time.Hour,
				Approve: func(context.Context, turn.ApprovalRequested) (turn.Decision, error) {
					asked++
					return "", fmt.Errorf("waits: %w", retry.ErrParked)
				},
			}
			p := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...)
			if !errors.Is(p.err, retry.ErrParked) || runs != 0 {
				t.Fatalf("Run without an answer: got %v, %d runs, want retry.ErrParked and none", p.err, runs)
			}
			open := turn.Replay(p.kept...).Approval()
			if until := time.Now().Add(time.Hour).UTC(); open == nil || open.ID != "1" || !open.Until.Equal(until) {
				t.Fatalf("open request: got %v, want that of call 1 until %v", open, until)
			}
			again := play(t.Context(), w, turn.Replay(p.kept...)) // a worker that comes without an answer
			if !errors.Is(again.err, retry.ErrParked) || len(again.kept) != 0 || asked != 2 {
				t.Errorf("Run again without an answer: got %v, events %v, want retry.ErrParked and none", again.err, again.kept)
			}
			done := play(t.Context(), w, turn.Replay(append(p.kept, turn.ApprovalAnswered{ID: "1", Decision: decision})...))
			result := ""
			for _, e := range done.kept {
				if r, ok := e.(turn.ToolResult); ok {
					result = r.Output
				}
			}
			if done.err != nil || asked != 2 || result != want || runs > 1 {
				t.Errorf("Run after %s: got %v, result %q, %d runs, want %q", decision, done.err, result, runs, want)
			}
		})
	}
}

func TestApprove_AlwaysHoldsForTheToolInLaterTurns(t *testing.T) {
	runs, asked := 0, 0
	call := func(id string) llmtest.Answer { return llmtest.Calls(llmtest.Call(id, "write", "{}")) }
	w := agent.Agent{
		Model: llmtest.New(large, call("1"), llmtest.Says("ok"), call("2"), llmtest.Says("ok")), Tools: []tool.Tool{counted(&runs)},
		Approve: func(context.Context, turn.ApprovalRequested) (turn.Decision, error) {
			asked++
			return turn.AllowAlways, nil
		},
	}
	first := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...)
	second := play(t.Context(), w, turn.Replay(first.kept...), turn.Begin("", "and again")...)
	if asked != 1 || runs != 2 || second.err != nil {
		t.Errorf("two turns with a tool that is always allowed: asked %d times, %d runs, %v, want 1, 2", asked, runs, second.err)
	}
	w.Model, w.Rules.Deny = llmtest.New(large, call("3"), llmtest.Says("ok")), []string{"write"}
	third := play(t.Context(), w, turn.Replay(append(first.kept, second.kept...)...), turn.Begin("", "once more")...)
	if runs != 2 || !strings.Contains(strings.Join(third.lines, "\n"), "the configuration denies this tool") {
		t.Errorf("a tool that is denied later: got %d runs, %q, want 2 and the reason", runs, third.lines)
	}
	if offered := w.Model.(*llmtest.Model).Requests()[0].Tools; len(offered) != 0 {
		t.Errorf("tools that the model is offered: got %v, want none", offered)
	}
}
