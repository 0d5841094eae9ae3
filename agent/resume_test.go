package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

// half is an answer that breaks off; whole is all of it.
const (
	half  = "The circuit opens when five tries in a row have failed, and then"
	whole = half + " it closes."
)

// TestAgent_CompletesText continues an answer that breaks off, through waits and with a second break.
func TestAgent_CompletesText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.New(large, llmtest.Breaks(half, cut), llmtest.Fails(busy), llmtest.Breaks("in a row have failed, and then it clo", cut),
			llmtest.Says("a row have failed, and then it closes."))
		w := agent.Agent{Model: m, System: "be kind", CompleteText: true, MaxTokens: 900, Retry: patient()}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		if p.err != nil {
			t.Fatalf("play: %v", p.err)
		}
		read, kept := "", turn.AssistantMessage{}
		for _, e := range p.events {
			switch e := e.(type) {
			case turn.TextDelta:
				read += e.Text
			case turn.AssistantMessage:
				kept = e
			}
		}
		if read != whole || kept.Content.Text() != whole || len(kept.Content) != 1 || kept.Partial || kept.Continued != 2 {
			t.Errorf("read %q, kept %+v; want %q, continued twice", read, kept, whole)
		}
		seal, ok := p.events[len(p.events)-1].(turn.Sealed)
		if !ok || seal.Status != turn.Done || seal.RetryCount != 3 || seal.OutputTokens < 20 {
			t.Errorf("got the end %+v, want a turn that is done, 3 retries and the tokens of all parts", seal)
		}
		asked := m.Requests()
		if len(asked) != 4 || asked[3].System != "be kind" || len(asked[3].Messages) != 3 || asked[3].MaxTokens >= 900 {
			t.Fatalf("asked %+v, want 4 requests, the last with two more messages", asked)
		}
		said, ask := asked[3].Messages[1], asked[3].Messages[2]
		if said.Role != llm.Assistant || said.Text() != half+" it clo" || ask.Role != llm.User || !strings.Contains(ask.Text(), "and then it clo</ending>") {
			t.Errorf("got the turns %q and %q, want what was said, and its end", said.Text(), ask.Text())
		}
	})
}

// TestAgent_KeepsThePartWithoutASeam has models that do not go on where the answer broke off.
func TestAgent_KeepsThePartWithoutASeam(t *testing.T) {
	call := llmtest.Call("1", "look", "{}")
	for name, row := range map[string]struct {
		first, second llmtest.Answer
		asked         int
	}{
		"starts over":         {llmtest.Breaks(half, cut), llmtest.Says("Well: " + whole), 2},
		"declines":            {llmtest.Breaks(half, cut), llmtest.Says("I would rather not."), 2},
		"only repeats":        {llmtest.Breaks(half, cut), llmtest.Says("in a row have failed, and then"), 2},
		"calls a tool":        {llmtest.Breaks(half, cut), llmtest.Calls(call), 2},
		"is refused":          {llmtest.Breaks(half, cut), llmtest.Fails(&fault.Error{Kind: fault.Invalid, Status: 400, Message: "no"}), 2},
		"has said too little": {llmtest.Breaks("The circuit", cut), llmtest.Says(whole), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := llmtest.New(large, row.first, row.second)
			p := play(t.Context(), agent.Agent{Model: m, CompleteText: true, Retry: patient()}, turn.State{}, turn.Begin("", "hello")...)
			read := ""
			for _, e := range p.events {
				switch e := e.(type) {
				case turn.TextDelta:
					read += e.Text
				case turn.AssistantMessage:
					if !e.Partial || e.Content.Text() != read {
						t.Errorf("%s: kept %+v, want the part %q", name, e, read)
					}
				case turn.Error:
					if e.Message != cut.Message {
						t.Errorf("%s: got the error %q, want that of the answer, %q", name, e.Message, cut.Message)
					}
				}
			}
			if seal := p.events[len(p.events)-1].(turn.Sealed); seal.Status != turn.Failed || !strings.HasPrefix(half, read) || len(m.Requests()) != row.asked {
				t.Errorf("%s: read %q, asked %d times, sealed %s; want %d, a part and a failure", name, read, len(m.Requests()), seal.Status, row.asked)
			}
		})
	}
}

// TestAgent_TextIsCompletedOnlyOnRequest is the turn as it was, without CompleteText.
func TestAgent_TextIsCompletedOnlyOnRequest(t *testing.T) {
	m := llmtest.New(large, llmtest.Breaks(half, cut), llmtest.Says(whole))
	p := play(t.Context(), agent.Agent{Model: m, Retry: patient()}, turn.State{}, turn.Begin("", "hello")...)
	if seal := p.events[len(p.events)-1].(turn.Sealed); seal.Status != turn.Failed || len(m.Requests()) != 1 {
		t.Errorf("asked %d times, sealed %s; want once, and a failure", len(m.Requests()), seal.Status)
	}
}
