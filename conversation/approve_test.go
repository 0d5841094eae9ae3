package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// withApproval is a fixture whose model calls a tool that writes.
func withApproval(t *testing.T, limit time.Duration, ran *atomic.Int32, answers ...llmtest.Answer) *fixture {
	h := newFixture(t, answers...)
	write := tool.Tool{Tool: llm.Tool{Name: "write"}, Writes: true, Func: func(context.Context, json.RawMessage) (string, error) {
		ran.Add(1)
		time.Sleep(time.Second) // an answer can be repeated meanwhile
		return "written", nil
	}}
	h.config.Agent = func(context.Context, conversation.Settings) (agent.Agent, error) {
		w := agent.Agent{Model: h.model, Tools: []tool.Tool{write}, ApprovalTime: limit}
		w.Retry.Policy = policy.Patient()
		return w, nil
	}
	return h
}

func callWrite(id string) llmtest.Answer {
	return llmtest.Calls(llmtest.Call(id, "write", `{"to":"disk"}`))
}

// pending waits until a conversation waits for approval.
func (h *fixture) pending(runner *conversation.Runner, id string) conversation.Approval {
	h.t.Helper()
	for range 100 {
		v, err := runner.Get(h.t.Context(), id)
		if err != nil {
			h.t.Fatalf("get: %v", err)
		}
		if v.Approval != nil {
			return *v.Approval
		}
		time.Sleep(100 * time.Millisecond)
	}
	h.t.Fatal("no call waits for approval")
	return conversation.Approval{}
}

func TestAnswer_TurnWaitsWithoutAWorkerAndAcrossRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		h := withApproval(t, 24*time.Hour, &ran, callWrite("1"), llmtest.Says("meanwhile"), llmtest.Says("done"))
		h.config.Workers = 1
		first, end := h.runner()
		id, other := h.create(first), h.create(first)
		h.say(first, id, "write it")
		a := h.pending(first, id)
		if a.Name != "write" || string(a.Arguments) != `{"to":"disk"}` || a.Conversation != id || a.Turn == "" || !a.Until.Equal(a.Since.Add(24*time.Hour).Truncate(time.Millisecond)) {
			t.Errorf("request: got %+v, want the call, for a day", a)
		}
		h.say(first, other, "hello")
		if got := follow(t, first, other, 0, 1); !slices.Contains(got, "model: meanwhile") {
			t.Errorf("another conversation meanwhile: got %q, want its answer", got)
		}
		end()
		time.Sleep(time.Hour)
		second, _ := h.runner()
		if all, err := second.Approvals(t.Context()); err != nil || len(all) != 1 || all[0].ID != "1" || all[0].Conversation != id {
			t.Errorf("Approvals after a restart: got %+v, %v, want the call of before", all, err)
		}
		if err := second.RetryNow(t.Context(), id); err != nil {
			t.Errorf("RetryNow: %v", err)
		}
		for _, wrong := range []struct {
			call string
			d    turn.Decision
			want error
		}{{"1", "yes", conversation.ErrInvalidDecision}, {"1", turn.Expired, conversation.ErrInvalidDecision}, {"2", turn.Deny, conversation.ErrNotAsked}} {
			if err := second.Answer(t.Context(), id, wrong.call, wrong.d); !errors.Is(err, wrong.want) {
				t.Errorf("Answer(%s, %s): got %v, want %v", wrong.call, wrong.d, err, wrong.want)
			}
		}
		if ran.Load() != 0 {
			t.Error("the tool has run without an answer")
		}
		for range 2 { // the second is a repetition
			if err := second.Answer(t.Context(), id, "1", turn.AllowOnce); err != nil {
				t.Fatalf("Answer: %v", err)
			}
		}
		got := follow(t, second, id, 0, 1)
		if want := "approval-requested, approval-answered, tool-call, tool-result"; !strings.Contains(strings.Join(got, ", "), want) || ran.Load() != 1 {
			t.Errorf("events: got %q and %d runs, want %s and 1", got, ran.Load(), want)
		}
		if err := second.Answer(t.Context(), id, "1", turn.AllowOnce); !errors.Is(err, conversation.ErrNotAsked) {
			t.Errorf("Answer after the end: got %v, want ErrNotAsked", err)
		}
		if all, err := second.Approvals(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("Approvals at the end: got %+v, %v, want none", all, err)
		}
	})
}

func TestAnswer_WithoutOneTheCallIsRefusedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		h := withApproval(t, 2*time.Hour, &ran, callWrite("1"), llmtest.Says("well"))
		runner, _ := h.runner()
		id := h.create(runner)
		began := time.Now()
		h.say(runner, id, "write it")
		got := follow(t, runner, id, 0, 1)
		if took := time.Since(began); took < 2*time.Hour || took > 2*time.Hour+time.Minute || ran.Load() != 0 || got[len(got)-1] != "sealed done, 0 retries, 0ms" {
			t.Errorf("turn without an answer: took %v, %d runs, %q, want two hours, none and done", took, ran.Load(), got)
		}
		for e := range runner.History(t.Context(), id, 0) {
			if b, ok := e.Body.(wire.Turn); ok {
				if r, ok := b.Event.(turn.ToolResult); ok && r.Output != "not allowed: the user has not answered in time" {
					t.Errorf("result: got %q, want the reason", r.Output)
				}
			}
		}
	})
}

func TestStop_EndsATurnThatWaitsForApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		h := withApproval(t, 0, &ran, callWrite("1"))
		runner, _ := h.runner()
		id := h.create(runner)
		h.say(runner, id, "write it")
		h.pending(runner, id)
		if err := runner.Stop(t.Context(), id, ""); err != nil {
			t.Fatalf("Stop: %v", err)
		}
		if err := runner.Answer(t.Context(), id, "1", turn.AllowOnce); err == nil {
			t.Error("Answer after Stop: got nil, want an error")
		}
		if got := follow(t, runner, id, 0, 1); got[len(got)-1] != "sealed aborted, 0 retries, 0ms" || ran.Load() != 0 {
			t.Errorf("events: got %q and %d runs, want aborted and none", got, ran.Load())
		}
	})
}

// An answer may come before the worker that has asked is gone.
func TestAnswer_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		const calls = 40
		var answers []llmtest.Answer
		for i := range calls {
			answers = append(answers, callWrite(string(rune('A'+i))))
		}
		h := withApproval(t, time.Hour, &ran, append(answers, llmtest.Says("done"))...)
		runner, _ := h.runner()
		id := h.create(runner)
		h.say(runner, id, "write a lot")
		began := time.Now()
		for e, err := range runner.Attach(t.Context(), id, 0) {
			if err != nil {
				t.Fatalf("attach: %v", err)
			}
			b, _ := e.Body.(wire.Turn)
			if q, ok := b.Event.(turn.ApprovalRequested); ok {
				if err := runner.Answer(t.Context(), id, q.ID, turn.AllowOnce); err != nil {
					t.Fatalf("Answer %s: %v", q.ID, err)
				}
			}
			if wire.Type(e.Body) == "turn-sealed" {
				break
			}
		}
		if took := time.Since(began); ran.Load() != calls || took > time.Minute {
			t.Errorf("calls that were answered at once: got %d runs in %v, want %d within a minute", ran.Load(), took, calls)
		}
	})
}

// lameStore loses the jobs that are due at once while it is lame.
type lameStore struct {
	store.Store
	lame atomic.Bool
}

func (s *lameStore) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	if s.lame.Load() && !at.After(time.Now()) {
		return errors.New("the process dies here")
	}
	return s.Store.Schedule(ctx, j, at)
}

func TestAnswer_IsHeardIfItsProcessDiesBeforeTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		h := withApproval(t, 24*time.Hour, &ran, callWrite("1"), llmtest.Says("done"))
		lame := &lameStore{Store: h.engine}
		h.config.Store = lame
		runner, _ := h.runner()
		id := h.create(runner)
		h.say(runner, id, "write it")
		h.pending(runner, id)
		lame.lame.Store(true)
		if err := runner.Answer(t.Context(), id, "1", turn.AllowOnce); err == nil {
			t.Fatal("Answer: got nil, want the error of the store")
		}
		lame.lame.Store(false)
		began := time.Now()
		follow(t, runner, id, 0, 1)
		if took := time.Since(began); ran.Load() != 1 || took > time.Minute {
			t.Errorf("the call: got %d runs after %v, want 1 within a minute", ran.Load(), took)
		}
	})
}

// slowStore has a worker park only when the answer is in the log, and delivers the job of the answer after that.
type slowStore struct {
	store.Store
	answered chan struct{}
}

func (s *slowStore) Append(ctx context.Context, id string, at store.Position, records ...store.Record) (store.Position, error) {
	end, err := s.Store.Append(ctx, id, at, records...)
	if err == nil && records[0].Type == "approval-answered" {
		close(s.answered)
	}
	return end, err
}

func (s *slowStore) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	switch wait := time.Until(at); {
	case wait > time.Hour:
		<-s.answered
	case wait <= 0:
		time.Sleep(100 * time.Millisecond)
		at = time.Now()
	}
	return s.Store.Schedule(ctx, j, at)
}

// An answer that comes before the worker has parked the turn does not have two workers continue.
func TestAnswer_BeforeTheWorkerHasParkedIsForOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		h := withApproval(t, 24*time.Hour, &ran, callWrite("1"), llmtest.Late(time.Minute, llmtest.Says("done")))
		h.config.Store = &slowStore{h.engine, make(chan struct{})}
		runner, _ := h.runner()
		id := h.create(runner)
		h.say(runner, id, "write it")
		h.pending(runner, id)
		if err := runner.Answer(t.Context(), id, "1", turn.AllowOnce); err != nil {
			t.Fatalf("Answer: %v", err)
		}
		got := follow(t, runner, id, 0, 1)
		if asked := len(h.model.(*llmtest.Model).Requests()); asked != 2 || ran.Load() != 1 || slices.Contains(got, "turn-restarted") {
			t.Errorf("requests, runs, events: got %d, %d, %q, want 2, 1 and no restart", asked, ran.Load(), got)
		}
	})
}
