package council_test

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
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

var (
	busy   = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy: a secret of the provider"}
	denied = &fault.Error{Kind: fault.Auth, Status: 401, Message: "who are you?"}
)

// name returns a model at a provider of its own.
func name(of string) llm.Name {
	provider, model, shared := strings.Cut(of, "/")
	if !shared {
		provider, model = of, "large"
	}
	return llm.Name{Provider: provider, Model: model}
}

// member returns an agent whose model gives these answers, one per request.
func member(of string, answers ...llmtest.Answer) agent.Agent {
	return agent.Agent{Model: llmtest.New(name(of), answers...)}
}

// says returns an answer that comes after some time.
func says(after time.Duration, text string) llmtest.Answer {
	return llmtest.Late(after, llmtest.Says(text))
}

// fails returns a failure that comes after some time.
func fails(after time.Duration, f *fault.Error) llmtest.Answer {
	return llmtest.Late(after, llmtest.Fails(f))
}

// three returns a council of the first member and two that answer at once. Its
// grace period leaves the first one all its budget.
func three(first agent.Agent) council.Council {
	return council.Council{
		Members:    []agent.Agent{first, member("b", says(0, "yes")), member("c", says(0, "no"))},
		Aggregator: member("judge", says(time.Second, "it depends")), Grace: time.Hour,
	}
}

// requests returns how many requests an agent's model got.
func requests(w agent.Agent) int { return len(w.Model.(*llmtest.Model).Requests()) }

// outcome is the result of a council and its events.
type outcome struct {
	council.Result
	err   error
	lines []string // its events, each with its time
}

// ask runs a council.
func ask(ctx context.Context, c council.Council) (s outcome) {
	began := time.Now()
	watch := c.OnEvent
	c.OnEvent = func(e council.Event) {
		if watch != nil {
			watch(e)
		}
		if line := describe(e); line != "" {
			s.lines = append(s.lines, fmt.Sprintf("%v %s", time.Since(began), line))
		}
	}
	s.Result, s.err = c.Run(ctx, "Is it so?")
	return s
}

// describe returns a line about an event; "": none.
func describe(e council.Event) string {
	switch {
	case e.Started != nil:
		return fmt.Sprintf("opened %d", len(e.Started.Members))
	case e.Member != nil:
		m := e.Member
		line := fmt.Sprintf("%s %s, tries %d, left %v", m.Name, m.State, m.Tries, m.Left)
		if m.State == council.Waiting {
			line += fmt.Sprintf(", wait %v", m.Wait)
		}
		if e.Unchanged {
			line += ", still"
		}
		return line
	case e.Quorum != nil:
		return fmt.Sprintf("quorate, grace %v", e.Grace)
	case e.Turn != nil:
		if d, ok := e.Turn.(turn.TextDelta); ok {
			return "… " + strings.TrimSpace(d.Text)
		}
		return "judge " + turn.Type(e.Turn)
	case e.Ended != nil:
		return fmt.Sprintf("closed %s", e.Ended.Status)
	}
	return ""
}

// count returns how many members are in a state.
func (s outcome) count(state council.State) (n int) {
	for _, m := range s.Members {
		if m.State == state {
			n++
		}
	}
	return n
}

// only returns the lines that contain a word.
func (s outcome) only(word string) (lines []string) {
	for _, line := range s.lines {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}

// expect compares lines with those of want.
func expect(t *testing.T, got []string, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("unexpected result, diff:\n%s", diff)
	}
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// faultOf returns the fault that an error holds.
func faultOf(err error) *fault.Error {
	f, _ := errors.AsType[*fault.Error](err)
	return f
}
