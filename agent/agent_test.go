package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

var (
	large  = llm.Name{Provider: "acme", Model: "large"}
	small  = llm.Name{Provider: "other", Model: "small"}
	busy   = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy", RequestID: "req_1"}
	long   = &fault.Error{Kind: fault.TooLong, Status: 400, Message: "prompt is too long"}
	denied = &fault.Error{Kind: fault.Auth, Status: 401, Message: "who are you?"}
	spent  = &fault.Error{Kind: fault.Quota, Status: 429, Message: "your credit is used up"}
	cut    = &fault.Error{Kind: fault.Truncated, Status: 200, Message: "the answer broke off"}
)

// patient returns a retrier with policy.Patient.
func patient() retry.Retrier { return retry.Retrier{Policy: policy.Patient()} }

// describe returns a line about an event.
func describe(e turn.Event) string {
	switch e := e.(type) {
	case turn.UserMessage:
		return "user: " + e.Text
	case turn.TextDelta:
		return "… " + e.Text
	case turn.ReasoningDelta:
		return "hm " + e.Text
	case turn.AssistantMessage:
		var words []string
		for _, b := range e.Content {
			words = append(words, strings.TrimPrefix(fmt.Sprintf("%T", b), "llm."))
		}
		return fmt.Sprintf("%s: %s%s %v%s", e.Name, e.Content.Text(), map[bool]string{true: " (broken off)"}[e.Partial], words, map[bool]string{false: " " + string(e.Reason)}[e.Reason == ""])
	case turn.ToolCall:
		return "run " + e.ID + " " + e.ToolCall.Name
	case turn.ToolResult:
		return "result " + e.ID + map[bool]string{true: " failed"}[e.Failed] + ": " + e.Output
	case turn.Usage:
		return fmt.Sprintf("usage %d %d", e.Input, e.Output)
	case turn.Retry:
		return fmt.Sprintf("retry %d in %v: %v", e.Run.Tries-1, e.Verdict.Wait, e.Fault)
	case turn.Waiting:
		return fmt.Sprintf("waiting %d: %v", e.Retry-1, e.Remaining)
	case turn.Recovered:
		return fmt.Sprintf("recovered after %d, %v", e.Retries, e.Waited)
	case turn.Switched:
		return fmt.Sprintf("switched from %s to %s: %s", e.From, e.To, e.Why)
	case turn.Compacted:
		return fmt.Sprintf("compacted %q %d %q", e.Outputs, e.Messages, e.Summary)
	case turn.Error:
		return fmt.Sprintf("error of %s, %s: %s (%d retries, %dms)", e.Name, e.Kind, e.Message, e.Retries, e.Waited.Milliseconds())
	case turn.Sealed:
		return fmt.Sprintf("sealed %s: %d retries, %dms, %d in, %d out", e.Status, e.RetryCount, e.TotalRetryDelay.Milliseconds(), e.InputTokens, e.OutputTokens)
	}
	return turn.Type(e)
}

// played is the outcome of a run.
type played struct {
	events []turn.Event
	kept   []turn.Event
	lines  []string
	err    error
}

// play runs a turn to its end.
func play(ctx context.Context, w agent.Agent, s turn.State, input ...turn.Event) (p played) {
	w.Persist = func(_ context.Context, events ...turn.Event) error {
		p.kept = append(p.kept, events...)
		return nil
	}
	for e, err := range w.Run(ctx, s, input...) {
		if err != nil {
			p.err = err
			break
		}
		p.events, p.lines = append(p.events, e), append(p.lines, strings.TrimSpace(describe(e)))
	}
	return p
}

// expect compares the events with the lines of want.
func (p played) expect(t *testing.T, want string) {
	t.Helper()
	if p.err != nil {
		t.Errorf("the run ended in %v", p.err)
	}
	if diff := cmp.Diff(lines(want), p.lines); diff != "" {
		t.Errorf("unexpected result, diff:\n%s", diff)
	}
}

// lines returns the lines of a text, without what indents them.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func TestAgent_AnswersATurn(t *testing.T) {
	w := agent.Agent{Model: llmtest.New(large, llmtest.Says("hello you")), System: "be kind"}
	p := play(t.Context(), w, turn.State{}, turn.Begin("t1", "hello")...)
	p.expect(t, `
		turn-start
		user: hello
		… hello
		… you
		acme/large: hello you [Text] stop
		usage 10 2
		sealed done: 0 retries, 0ms, 10 in, 2 out`)
	if r := w.Model.(*llmtest.Model).Requests(); len(r) != 1 || r[0].System != "be kind" || r[0].Messages[0].Text() != "hello" {
		t.Errorf("it was asked %+v", r)
	}
}

func TestAgent_RetriesBeforeContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(cut), llmtest.Fails(busy), llmtest.Says("hi")), Retry: patient()}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		p.expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 10s: the answer broke off
			retry 2 in 30s: HTTP 529: busy
			recovered after 3, 45s
			… hi
			acme/large: hi [Text] stop
			usage 10 1
			sealed done: 3 retries, 45000ms, 10 in, 1 out`)
		for _, e := range p.kept {
			if !turn.Kept(e) {
				t.Errorf("%s was kept", turn.Type(e))
			}
		}
		for _, r := range w.Model.(*llmtest.Model).Requests() {
			if len(r.Messages) != 1 {
				t.Errorf("a retry reached the prompt: %v", r.Messages)
			}
		}
	})
}

func TestAgent_ReportsALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hinted := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow", Wait: 70 * time.Second}
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(hinted), llmtest.Says("hi")), Retry: patient()}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		p.expect(t, `
			turn-start
			user: hello
			retry 0 in 1m10s: HTTP 429: slow
			waiting 0: 40s
			waiting 0: 10s
			recovered after 1, 1m10s
			… hi
			acme/large: hi [Text] stop
			usage 10 1
			sealed done: 1 retries, 70000ms, 10 in, 1 out`)
	})
}

func TestAgent_ZeroPolicyTriesOnce(t *testing.T) {
	w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(busy))}
	p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
	p.expect(t, `
		turn-start
		user: hello
		error of acme/large, overloaded: HTTP 529: busy (0 retries, 0ms)
		sealed failed: 0 retries, 0ms, 0 in, 0 out`)
}

func TestAgent_ExhaustionReturnsTheLastFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{Model: &llmtest.Model{Then: llmtest.Fails(busy)}, Retry: retry.Retrier{Policy: policy.Simple()}}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		p.expect(t, `
			turn-start
			user: hello
			retry 0 in 1s: HTTP 529: busy
			retry 1 in 2s: HTTP 529: busy
			retry 2 in 4s: HTTP 529: busy
			error of , overloaded: HTTP 529: busy (3 retries, 7000ms)
			sealed failed: 3 retries, 7000ms, 0 in, 0 out`)
		e := p.events[len(p.events)-2].(turn.Error)
		if e.RequestID != "req_1" || e.Code != "529" || e.Fault != busy {
			t.Errorf("error: got %+v, want request req_1, code 529 and the fault itself", e)
		}
	})
}

func TestAgent_FinalFaultIsNotRetried(t *testing.T) {
	for _, f := range []*fault.Error{
		denied, spent,
		{Kind: fault.Invalid, Status: 422},
		{Kind: fault.Refused, Status: 403},
		{Kind: fault.Unknown},
		long,
		{Kind: fault.Overloaded, Status: 529, Final: true},
	} {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(f)), Retry: retry.Retrier{Policy: policy.Interactive()}}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		if len(p.lines) != 4 || !strings.HasPrefix(p.lines[2], "error") || len(w.Model.(*llmtest.Model).Requests()) != 1 {
			t.Errorf("%v: events %q", f, p.lines)
		}
	}
}

func TestAgent_NoRetryAfterText(t *testing.T) {
	model := llmtest.New(large, llmtest.Breaks("he", cut))
	p := play(t.Context(), agent.Agent{Model: model, Retry: patient(), Fallback: []llm.Model{llmtest.New(small)}}, turn.State{}, turn.Begin("", "hello")...)
	if len(model.Requests()) != 1 || p.lines[len(p.lines)-2] != "error of acme/large, truncated: the answer broke off (0 retries, 0ms)" {
		t.Errorf("events %q", p.lines)
	}
}

func TestAgent_TruncatedAnswerIsKept(t *testing.T) {
	model := llmtest.New(large, llmtest.Breaks("half an", cut), llmtest.Says("whole"))
	w := agent.Agent{Model: model, Retry: patient()}
	p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
	p.expect(t, `
		turn-start
		user: hello
		… half
		… an
		acme/large: half an (broken off) [Text]
		error of acme/large, truncated: the answer broke off (0 retries, 0ms)
		sealed failed: 0 retries, 0ms, 0 in, 0 out`)
	play(t.Context(), w, turn.Replay(p.kept...), turn.Begin("", "go on")...)
	if m := model.Requests()[1].Messages; len(m) != 3 || m[1].Text() != "half an" {
		t.Errorf("the next turn knows %v", m)
	}
}

func TestAgent_AbortDuringAWaitSealsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := agent.Agent{Model: &llmtest.Model{Then: llmtest.Fails(busy)}, Retry: patient()}
		time.AfterFunc(20*time.Second, cancel)
		began := time.Now()
		p := play(ctx, w, turn.State{}, turn.Begin("", "hello")...)
		p.expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 10s: HTTP 529: busy
			retry 2 in 30s: HTTP 529: busy
			sealed aborted: 2 retries, 20000ms, 0 in, 0 out`)
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("it took %v, want 20s", took)
		}
	})
}

func TestAgent_AbortKeepsThePartialAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		w := agent.Agent{Model: llmtest.New(large, llmtest.Hangs(llm.Usage{Input: 5}, llm.Text{Text: "well"}))}
		play(ctx, w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			… well
			acme/large: well (broken off) [Text]
			usage 5 0
			sealed aborted: 0 retries, 0ms, 5 in, 0 out`)
	})
}

func TestAgent_HandoverLeavesTheTurnUnsealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(retry.ErrParked) })
		model := llmtest.New(large, llmtest.Hangs(llm.Text{Text: "well"}), llmtest.Says("hi"))
		p := play(ctx, agent.Agent{Model: model}, turn.State{}, turn.Begin("", "hello")...)
		if !errors.Is(p.err, retry.ErrParked) || len(p.kept) != 2 {
			t.Errorf("%v, kept %v", p.err, p.kept)
		}
		play(t.Context(), agent.Agent{Model: model}, turn.Replay(p.kept...)).expect(t, `
			… hi
			acme/large: hi [Text] stop
			usage 10 1
			sealed done: 0 retries, 0ms, 10 in, 1 out`)
	})
}

func TestAgent_ParkedWaitContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi"))
		w := agent.Agent{Model: model, Retry: patient()}
		var stored policy.Run
		w.Retry.Sleep = func(_ context.Context, wait policy.Wait) error {
			stored = wait.Run
			return retry.ErrParked
		}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		if p.lines[2] != "retry 0 in 5s: HTTP 529: busy" || !errors.Is(p.err, retry.ErrParked) {
			t.Fatalf("events %q, error %v; want event 2 \"retry 0 in 5s: HTTP 529: busy\", error retry.ErrParked", p.lines, p.err)
		}
		w.Retry.Sleep, w.Retry.Start = nil, stored
		play(t.Context(), w, turn.Replay(p.kept...)).expect(t, `
			retry 1 in 10s: HTTP 529: busy
			retry 2 in 30s: HTTP 529: busy
			recovered after 3, 45s
			… hi
			acme/large: hi [Text] stop
			usage 10 1
			sealed done: 2 retries, 40000ms, 10 in, 1 out`)
	})
}

func TestAgent_CallersLimitIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &fault.Error{Kind: fault.Timeout, Message: "the budget is spent"}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, budget)
		defer cancel()
		w := agent.Agent{Model: llmtest.New(large, llmtest.Hangs())}
		play(ctx, w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			error of acme/large, timeout: the budget is spent (0 retries, 0ms)
			sealed failed: 0 retries, 0ms, 0 in, 0 out`)
	})
}

func TestAgent_LimitReportsEarlierTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, &fault.Error{Kind: fault.Timeout, Message: "the budget is spent"})
		defer cancel()
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(busy), llmtest.Hangs(llm.Reasoning{Text: "hm"})), Retry: patient()}
		p := play(ctx, w, turn.State{}, turn.Begin("", "hello")...)
		e, ok := p.events[len(p.events)-2].(turn.Error)
		if !ok || !e.Committed() || e.Retries != 1 || e.Waited != 5*time.Second {
			t.Errorf("error: committed %v, %d retries, waited %v; want true, 1, 5s", e.Committed(), e.Retries, e.Waited)
		}
	})
}

func TestAgent_PersistFailsBeforeTheEventIsShown(t *testing.T) {
	full := errors.New("disk full")
	w := agent.Agent{Model: llmtest.New(large, llmtest.Says("hi"))}
	w.Persist = func(_ context.Context, events ...turn.Event) error {
		if turn.Type(events[0]) == "assistant-message" {
			return full
		}
		return nil
	}
	var shown []string
	for e, err := range w.Run(t.Context(), turn.State{}, turn.Begin("", "hello")...) {
		if err != nil {
			if !errors.Is(err, full) {
				t.Errorf("Run: %v", err)
			}
			break
		}
		shown = append(shown, turn.Type(e))
	}
	if last := shown[len(shown)-1]; last != "text-delta" {
		t.Errorf("%s was shown and is not kept; want last event \"text-delta\"", last)
	}
}

func TestAgent_ReaderMayStopAtAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := 1; ; n++ {
			w := agent.Agent{Retry: patient(), Model: llmtest.New(large,
				llmtest.Fails(&fault.Error{Kind: fault.RateLimited, Wait: time.Minute}), llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Says("a b"))}
			seen := 0
			for range w.Run(t.Context(), turn.State{}, turn.Begin("", "hello")...) {
				if seen++; seen == n {
					break
				}
			}
			synctest.Wait()
			if seen < n {
				return // it has been everywhere
			}
		}
	})
}

func TestAgent_WithoutAModelReturnsAnError(t *testing.T) {
	p := play(t.Context(), agent.Agent{}, turn.State{}, turn.Begin("", "hello")...)
	if p.err == nil || len(p.lines) != 0 {
		t.Errorf("error %v, events %q; want an error and no events", p.err, p.lines)
	}
}

func TestAgent_MaxStepsEndsATurn(t *testing.T) {
	w := agent.Agent{Model: &llmtest.Model{Then: llmtest.Calls(llmtest.Call("1", "look", "{}"))}, MaxSteps: 3}
	p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
	if last := p.lines[len(p.lines)-2]; last != "error of , invalid: the turn has taken 3 steps without coming to its end (0 retries, 0ms)" {
		t.Errorf("events %q", p.lines)
	}
}

func TestAgent_SteeringReachesTheNextStep(t *testing.T) {
	inbox := [][]turn.UserMessage{nil, {{Text: "shorter", ID: "2"}, {Text: "please"}}}
	model := llmtest.New(large, llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Says("ok"))
	w := agent.Agent{Model: model, Tools: []tool.Tool{gives("look", 0, "seen")}, Steering: func() []turn.UserMessage {
		said := inbox[0]
		inbox = inbox[1:]
		return said
	}}
	play(t.Context(), w, turn.State{}, turn.Begin("", "go")...).expect(t, `
		turn-start
		user: go
		acme/large:  [ToolCall] calls
		usage 10 1
		run 1 look
		result 1: seen
		user: shorter
		user: please
		… ok
		acme/large: ok [Text] stop
		usage 10 1
		sealed done: 0 retries, 0ms, 20 in, 2 out`)
	if m := model.Requests()[1].Messages; len(m) != 5 || m[4].Text() != "please" {
		t.Errorf("messages %v", m)
	}
}

func TestAgent_SteeringInAWaitReachesTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		said := false
		model := llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("ok"))
		w := agent.Agent{Model: model, Retry: patient(), Steering: func() []turn.UserMessage {
			if said || time.Since(began) < 10*time.Second {
				return nil
			}
			said = true
			return []turn.UserMessage{{Text: "shorter", ID: "2"}}
		}}
		play(t.Context(), w, turn.State{}, turn.Begin("", "go")...).expect(t, `
			turn-start
			user: go
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 10s: HTTP 529: busy
			user: shorter
			recovered after 2, 15s
			… ok
			acme/large: ok [Text] stop
			usage 10 1
			sealed done: 2 retries, 15000ms, 10 in, 1 out`)
		if m := model.Requests()[2].Messages; len(m) != 2 || m[1].Text() != "shorter" {
			t.Errorf("the third try has the messages %v, want what was said in the wait", m)
		}
	})
}

func TestAgent_SteeringThatIsNotStoredEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no space left")
		model := llmtest.New(large, llmtest.Fails(busy), llmtest.Says("ok"))
		w := agent.Agent{Model: model, Retry: patient(), Steering: func() []turn.UserMessage {
			if len(model.Requests()) == 0 {
				return nil
			}
			return []turn.UserMessage{{Text: "shorter", ID: "2"}}
		}}
		w.Persist = func(_ context.Context, events ...turn.Event) error {
			if m, ok := events[0].(turn.UserMessage); ok && m.ID == "2" {
				return broken
			}
			return nil
		}
		var last error
		for e, err := range w.Run(t.Context(), turn.State{}, turn.Begin("", "go")...) {
			if _, ended := e.(turn.Sealed); ended {
				t.Errorf("the turn is sealed, want it open")
			}
			last = err
		}
		if n := len(model.Requests()); !errors.Is(last, broken) || n != 1 {
			t.Errorf("ended in %v after %d requests, want %v after 1", last, n, broken)
		}
	})
}

func TestAgent_MetricsIncludeEarlierParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{
			Model: llmtest.New(large, llmtest.Fails(busy), llmtest.Says("hi")), Retry: patient(),
			Prior:      turn.Metrics{RetryCount: 3, TotalRetryDelay: 45 * time.Second, Duration: 50 * time.Second},
			SpreadWait: func(d time.Duration) time.Duration { return d + time.Second },
		}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		want := turn.Metrics{RetryCount: 4, TotalRetryDelay: 51 * time.Second, TimeToFirstToken: 56 * time.Second, Duration: 56 * time.Second, InputTokens: 10, OutputTokens: 1}
		if m := p.events[len(p.events)-1].(turn.Sealed).Metrics; m != want || p.lines[2] != "retry 0 in 6s: HTTP 529: busy" {
			t.Errorf("metrics %+v, events %q", m, p.lines)
		}
	})
}

// opens is a breaker that wakes waiting callers after a time.
type opens time.Duration

func (opens) Acquire(context.Context) (retry.Permit, error) { return nil, nil }

func (o opens) Wait(ctx context.Context, d time.Duration) error {
	return retry.Sleep(ctx, min(d, time.Duration(o)))
}

// earlyProbes is a breaker that sends an early probe a second into the first wait.
type earlyProbes struct{ sent bool }

func (*earlyProbes) Acquire(context.Context) (retry.Permit, error) { return nil, nil }

func (s *earlyProbes) Wait(ctx context.Context, d time.Duration) error {
	if s.sent {
		return retry.Sleep(ctx, d)
	}
	s.sent = true
	return errors.Join(retry.Sleep(ctx, time.Second), retry.ErrEarlyProbe)
}

func TestAgent_FailedEarlyProbeIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi")), Retry: patient()}
		w.Retry.Breaker = &earlyProbes{}
		play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			recovered after 1, 5s
			… hi
			acme/large: hi [Text] stop
			usage 10 1
			sealed done: 1 retries, 5000ms, 10 in, 1 out`)
	})
}

// same compares two states.
func same(t interface {
	Helper()
	Errorf(string, ...any)
}, a, b turn.State,
) {
	t.Helper()
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(turn.State{})); diff != "" {
		t.Errorf("the states differ: %s", diff)
	}
}
