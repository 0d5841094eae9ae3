package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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

// gives returns a tool that reads and takes some time.
func gives(name string, d time.Duration, output string) tool.Tool {
	return tool.Tool{Tool: llm.Tool{Name: name}, Func: func(ctx context.Context, _ json.RawMessage) (string, error) {
		select {
		case <-time.After(d):
			return output, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}}
}

func writes(t tool.Tool) tool.Tool {
	t.Writes = true
	return t
}

func TestTools_RunInParallelWithOrderedResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(large,
			llmtest.Calls(llmtest.Call("1", "slow", "{}"), llmtest.Call("2", "fast", "{}"), llmtest.Call("3", "none", "{}")), llmtest.Says("done"))
		w := agent.Agent{Model: model, Tools: []tool.Tool{gives("slow", 2*time.Second, "s"), gives("fast", time.Second, "f")}}
		began := time.Now()
		play(t.Context(), w, turn.State{}, turn.Begin("", "go")...).expect(t, `
			turn-start
			user: go
			acme/large:  [ToolCall ToolCall ToolCall] calls
			usage 10 3
			result 3 failed: there is no tool named "none"
			run 1 slow
			run 2 fast
			result 2: f
			result 1: s
			… done
			acme/large: done [Text] stop
			usage 10 1
			sealed done: 0 retries, 0ms, 20 in, 4 out`)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %v, want 2s", took)
		}
		results := model.Requests()[1].Messages[2].Content
		if fmt.Sprint(results[0].(llm.ToolResult).Output, results[1].(llm.ToolResult).Output, results[2].(llm.ToolResult).Failed) != "sftrue" {
			t.Errorf("results %+v", results)
		}
	})
}

func TestAgent_ToolThatWritesNeedsApproval(t *testing.T) {
	call := llmtest.Call("1", "write", `{"to":"disk"}`)
	tests := []struct {
		name    string
		approve func(context.Context, turn.ApprovalRequested) (turn.Decision, error)
		want    string
	}{
		{"no Approve", nil, "result 1 failed: not allowed: this tool needs a user's approval, and there is none to ask"},
		{"refused", func(context.Context, turn.ApprovalRequested) (turn.Decision, error) {
			return "", errors.New("not that disk")
		}, "result 1 failed: not allowed: not that disk"},
		{"approved", func(_ context.Context, c turn.ApprovalRequested) (turn.Decision, error) {
			if string(c.Arguments) != `{"to":"disk"}` {
				t.Errorf("asked for %s", c.Arguments)
			}
			return turn.AllowOnce, nil
		}, "result 1: written"},
	}
	for _, tt := range tests {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Calls(call), llmtest.Says("ok")), Approve: tt.approve, Tools: []tool.Tool{writes(gives("write", 0, "written"))}}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...)
		if !strings.Contains(strings.Join(p.lines, "\n"), tt.want) {
			t.Errorf("%s: events %q", tt.name, p.lines)
		}
	}
}

func TestTools_WithResultsAreNotRunAgain(t *testing.T) {
	runs := map[string]*atomic.Int32{"look": {}, "write": {}, "set": {}}
	count := func(name string, t tool.Tool) tool.Tool {
		t.Tool = llm.Tool{Name: name}
		t.Func = func(context.Context, json.RawMessage) (string, error) {
			return fmt.Sprintf("%s ran %d", name, runs[name].Add(1)), nil
		}
		return t
	}
	calls := llmtest.Calls(llmtest.Call("1", "look", "{}"), llmtest.Call("2", "look", "{}"), llmtest.Call("3", "write", "{}"), llmtest.Call("4", "set", "{}"))
	first := play(t.Context(), agent.Agent{Model: llmtest.New(large, calls)}, turn.State{}, turn.Begin("", "go")...)
	answer := first.kept[2].(turn.AssistantMessage)
	died := append(turn.Begin("", "go"), answer)
	for _, c := range answer.Content.Calls() {
		died = append(died, turn.ToolCall{ToolCall: c})
	}
	died = append(died, turn.ToolResult{ToolResult: llm.ToolResult{ID: "1", Name: "look", Output: "seen"}})

	model := llmtest.New(large, llmtest.Says("ok"))
	w := agent.Agent{
		Model: model, Approve: allowOnce,
		Tools: []tool.Tool{count("look", tool.Tool{}), count("write", tool.Tool{Writes: true}), count("set", tool.Tool{Writes: true, Idempotent: true})},
	}
	play(t.Context(), w, turn.Replay(died...))
	var got []string
	for _, b := range model.Requests()[0].Messages[2].Content {
		got = append(got, b.(llm.ToolResult).Output)
	}
	want := "seen|look ran 1|this was interrupted; whether it has taken effect is not known, so look before you try again|set ran 1"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}

func TestTools_AbortKeepsTheirResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(errors.New("enough")) })
		model := llmtest.New(large, llmtest.Calls(llmtest.Call("1", "fast", "{}"), llmtest.Call("2", "slow", "{}")), llmtest.Says("ok"))
		w := agent.Agent{Model: model, Tools: []tool.Tool{gives("slow", time.Hour, "s"), gives("fast", time.Second, "f")}}
		p := play(ctx, w, turn.State{}, turn.Begin("", "go")...)
		p.expect(t, `
			turn-start
			user: go
			acme/large:  [ToolCall ToolCall] calls
			usage 10 2
			run 1 fast
			run 2 slow
			result 1: f
			result 2 failed: stopped: enough
			sealed aborted: 0 retries, 0ms, 10 in, 2 out`)
	})
}

func TestTools_AbortEndsTheApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := agent.Agent{Model: llmtest.New(large, llmtest.Calls(llmtest.Call("1", "write", "{}"))), Tools: []tool.Tool{writes(gives("write", 0, ""))}}
		w.Approve = func(ctx context.Context, _ turn.ApprovalRequested) (turn.Decision, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		p := play(ctx, w, turn.State{}, turn.Begin("", "go")...)
		if last := p.lines[len(p.lines)-1]; !strings.HasPrefix(last, "sealed aborted") || strings.Contains(strings.Join(p.lines, "\n"), "result") {
			t.Errorf("events %q", p.lines)
		}
	})
}

func TestTools_ThatWriteRunAloneInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		note := func(words string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, words)
		}
		step := func(name string, d time.Duration) tool.Tool {
			return tool.Tool{Tool: llm.Tool{Name: name}, Func: func(context.Context, json.RawMessage) (string, error) {
				note(name)
				time.Sleep(d)
				note(name + ".")
				return "", nil
			}}
		}
		model := llmtest.New(large, llmtest.Calls(llmtest.Call("1", "read", "{}"), llmtest.Call("2", "slow", "{}"),
			llmtest.Call("3", "write", "{}"), llmtest.Call("4", "set", "{}"), llmtest.Call("5", "read", "{}")), llmtest.Says("ok"))
		w := agent.Agent{
			Model: model, Approve: allowOnce,
			Tools: []tool.Tool{step("read", time.Second), step("slow", 3*time.Second), writes(step("write", 2*time.Second)), writes(step("set", time.Second))},
		}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...)
		if p.err != nil || len(log) != 10 {
			t.Fatalf("error %v, order %q", p.err, log)
		}
		if got := strings.Join(log[2:], " "); got != "read. slow. write write. set set. read read." {
			t.Errorf("order %q, want \"read. slow. write write. set set. read read.\"", log)
		}
	})
}

func TestTools_ContextEndsWithTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{
			Model: llmtest.New(large, llmtest.Calls(llmtest.Call("1", "fast", "{}"), llmtest.Call("2", "slow", "{}"))),
			Tools: []tool.Tool{gives("fast", time.Second, ""), gives("slow", time.Hour, "")},
		}
		began := time.Now()
		for e := range w.Run(t.Context(), turn.State{}, turn.Begin("", "go")...) {
			if turn.Type(e) == "tool-result" {
				break
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
	})
}

func TestTools_InterruptedByAHandoverRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(retry.ErrParked) })
		model := llmtest.New(large, llmtest.Calls(llmtest.Call("1", "fast", "{}"), llmtest.Call("2", "slow", "{}")), llmtest.Says("ok"))
		w := agent.Agent{Model: model, Tools: []tool.Tool{gives("fast", time.Second, "f"), gives("slow", 90*time.Second, "s")}}
		p := play(ctx, w, turn.State{}, turn.Begin("", "go")...)
		if !errors.Is(p.err, retry.ErrParked) || p.lines[len(p.lines)-1] != "result 1: f" {
			t.Fatalf("error %v, events %q; want error retry.ErrParked, last event \"result 1: f\"", p.err, p.lines)
		}
		play(t.Context(), w, turn.Replay(p.kept...), turn.Restarted{}).expect(t, `
			turn-restarted
			run 2 slow
			result 2: s
			… ok
			acme/large: ok [Text] stop
			usage 10 1
			sealed done: 0 retries, 0ms, 20 in, 3 out`)
	})
}

func TestAgent_RefusesToolNamesThatNoProviderTakes(t *testing.T) {
	for _, name := range []string{"", "two words", "ähnlich", strings.Repeat("x", 65)} {
		w := agent.Agent{Model: llmtest.New(large), Tools: []tool.Tool{gives(name, 0, "")}}
		if p := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...); p.err == nil || len(p.kept) != 0 {
			t.Errorf("%q: %v, kept %v", name, p.err, p.kept)
		}
	}
}

func TestAgent_RefusesTwoToolsOfOneName(t *testing.T) {
	w := agent.Agent{Model: llmtest.New(large), Tools: []tool.Tool{gives("look", 0, ""), gives("look", 0, "")}}
	if p := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...); p.err == nil || len(p.kept) != 0 {
		t.Errorf("%v, kept %v", p.err, p.kept)
	}
}

func TestTools_CallsWithOneIDAreKeptApart(t *testing.T) {
	echo := tool.Tool{Tool: llm.Tool{Name: "echo"}, Func: func(_ context.Context, arguments json.RawMessage) (string, error) {
		return string(arguments), nil
	}}
	m := llmtest.New(large,
		llmtest.Calls(llmtest.Call("0", "echo", `{"n":1}`), llmtest.Call("0", "echo", `{"n":2}`), llmtest.Call("", "echo", `{"n":3}`)),
		llmtest.Calls(llmtest.Call("0", "echo", `{"n":4}`)), llmtest.Says("done"))
	p := play(t.Context(), agent.Agent{Model: m, Tools: []tool.Tool{echo}}, turn.State{}, turn.Begin("", "go")...)
	called, answered := map[string]string{}, 0
	for _, e := range p.kept {
		switch e := e.(type) {
		case turn.AssistantMessage:
			for _, c := range e.Content.Calls() {
				if _, taken := called[c.ID]; taken || c.ID == "" {
					t.Errorf("%q is the id of two", c.ID)
				}
				called[c.ID] = string(c.Arguments)
			}
		case turn.ToolResult:
			if answered++; called[e.ID] != e.Output {
				t.Errorf("%q gives %s", e.ID, e.Output)
			}
		}
	}
	if len(called) != 4 || answered != 4 || called["0"] != `{"n":1}` {
		t.Errorf("%q, %d results", called, answered)
	}
}
