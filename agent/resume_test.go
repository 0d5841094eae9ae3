package agent_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
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

// TestAgent_KeepsThePartWithoutASeam has models that do not continue where the answer broke off.
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

// thinks is an answer that breaks off in its reasoning, or behind a call.
func thinks(parts ...llm.Part) llmtest.Answer {
	return func(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
		return func(yield func(llm.Part, error) bool) {
			for _, p := range append([]llm.Part{llm.Reasoning{Text: "Let me see."}}, parts...) {
				if !yield(p, nil) {
					return
				}
			}
			yield(nil, cut)
		}
	}
}

// TestAgent_AsksAgainBeforeItsText is about answers of which nothing is kept where they break off.
func TestAgent_AsksAgainBeforeItsText(t *testing.T) {
	look := llmtest.Call("1", "look", "{}")
	off := func(llm.Name) agent.Terms { return agent.Terms{Policy: policy.Patient(), CompleteOff: true} }
	for name, row := range map[string]struct {
		answers   []llmtest.Answer
		terms     func(llm.Name) agent.Terms
		other     bool // there is another model
		asked     int  // of the first one
		continued int
		status    turn.Status
	}{
		"a usage":                    {[]llmtest.Answer{thinks(llm.Usage{Input: 7}), llmtest.Says(whole)}, nil, false, 2, 1, turn.Done},
		"reasoning":                  {[]llmtest.Answer{thinks(), llmtest.Says(whole)}, nil, false, 2, 1, turn.Done},
		"a call":                     {[]llmtest.Answer{thinks(look), llmtest.Says(whole)}, nil, false, 2, 1, turn.Done},
		"an outage":                  {[]llmtest.Answer{thinks(), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says(whole)}, nil, false, 4, 1, turn.Done},
		"twice":                      {[]llmtest.Answer{thinks(), thinks(look), llmtest.Says(whole)}, nil, false, 3, 2, turn.Done},
		"three times":                {[]llmtest.Answer{thinks(), thinks(), thinks(), llmtest.Says(whole)}, nil, false, 3, 0, turn.Failed},
		"twice, with another model":  {[]llmtest.Answer{thinks(), thinks(), llmtest.Says("no")}, nil, true, 2, 0, turn.Done},
		"not where it is off":        {[]llmtest.Answer{thinks(), llmtest.Says(whole)}, off, false, 1, 0, turn.Failed},
		"not behind a text":          {[]llmtest.Answer{thinks(llm.Text{Text: half}), llmtest.Says(whole)}, nil, false, 1, 0, turn.Failed},
		"not if that fails for good": {[]llmtest.Answer{thinks(), llmtest.Fails(&fault.Error{Kind: fault.Invalid, Status: 400})}, nil, false, 2, 0, turn.Failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := llmtest.New(large, row.answers...)
			w := agent.Agent{Model: m, Retry: patient(), Terms: row.terms}
			if row.other {
				w.Fallback, w.Patience = []llm.Model{llmtest.New(small, llmtest.Says(whole))}, agent.Forever
			}
			p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
			var kept turn.AssistantMessage
			retries, read := 0, ""
			for _, e := range p.events {
				switch e := e.(type) {
				case turn.AssistantMessage:
					kept = e
				case turn.Retry:
					retries++
				case turn.TextDelta:
					read += e.Text
				}
			}
			seal := p.events[len(p.events)-1].(turn.Sealed)
			if n := len(m.Requests()); n != row.asked || seal.Status != row.status || retries < row.continued {
				t.Errorf("%s: asked %d times, sealed %s, %d retries told; want %d, %s", name, n, seal.Status, retries, row.asked, row.status)
			}
			if name == "a usage" && seal.InputTokens != 17 {
				t.Errorf("%s: %d tokens in, want those of both requests, 17", name, seal.InputTokens)
			}
			if seal.Status == turn.Done && (read != whole || kept.Content.Text() != whole || len(kept.Content) != 1 || kept.Continued != row.continued) {
				t.Errorf("%s: read %q, kept %+v; want the second answer alone, continued %d", name, read, kept, row.continued)
			}
		})
	}
}
