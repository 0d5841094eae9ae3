package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

// after returns the state after the events.
func (p played) after(s turn.State) turn.State {
	for _, e := range p.kept {
		s = s.Apply(e)
	}
	return s
}

func TestShorten_ReplacesTheOldestMessagesThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(large, llmtest.Fails(busy), llmtest.Says("they talked"), llmtest.Says("done"))
		a := agent.Agent{Model: model, Retry: patient()}
		p := play(t.Context(), a, talk(), turn.Start{ID: "t1", Compact: true, Instruction: "keep the names"})
		p.expect(t, `
			turn-start
			retry 0 in 5s: HTTP 529: busy
			recovered after 1, 5s
			usage 10 2
			compacted [] 6 "they talked"
			sealed done: 1 retries, 5000ms, 10 in, 2 out`)
		if asked := model.Requests()[1].System; !strings.HasSuffix(asked, "The user asks of this summary: keep the names") {
			t.Errorf("system prompt of the summary: got %q, want the instruction at its end", asked)
		}
		left := p.after(talk()).Messages()
		if len(left) != 3 || !strings.HasSuffix(left[0].Text(), "they talked") || p.after(talk()).Unanswered() {
			t.Errorf("history: got %d messages, the first %.80q, want the summary and the last exchange", len(left), left[0].Text())
		}
	})
}

func TestShorten_LeavesAShortConversation(t *testing.T) {
	model := llmtest.New(large)
	play(t.Context(), agent.Agent{Model: model}, turn.State{}, turn.Start{Compact: true}).expect(t, `
		turn-start
		compacted [] 0 ""
		sealed done: 0 retries, 0ms, 0 in, 0 out`)
}

func TestShorten_FailsWithoutASummary(t *testing.T) {
	model := llmtest.New(large, llmtest.Says(""))
	p := play(t.Context(), agent.Agent{Model: model}, talk(), turn.Start{Compact: true})
	if all := strings.Join(p.lines, "\n"); !strings.Contains(all, "the model gave no summary") || !strings.Contains(all, "sealed failed") {
		t.Errorf("events: got %s, want a failure for want of a summary", all)
	}
	if n := len(p.after(talk()).Messages()); n != 8 {
		t.Errorf("history: got %d messages, want all 8", n)
	}
}

func TestShorten_IsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		model := llmtest.New(large, llmtest.Hangs())
		p := play(ctx, agent.Agent{Model: model, Retry: patient()}, talk(), turn.Start{Compact: true})
		if last := p.lines[len(p.lines)-1]; !strings.HasPrefix(last, "sealed aborted") || len(p.after(talk()).Messages()) != 8 {
			t.Errorf("end: got %q with %d messages, want it aborted with all 8", last, len(p.after(talk()).Messages()))
		}
	})
}
