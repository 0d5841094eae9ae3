package tui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// spends is an answer with a usage.
func spends(text string, u llm.Usage) llmtest.Answer {
	return llmtest.Parts(llm.Text{Text: text}, u, llm.End{Reason: llm.Stop})
}

func TestUsage_OfTheTurnAndTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := spends("one", llm.Usage{Input: 1200, Output: 80, CacheRead: 1000, CacheWrite: 64, Reasoning: 30})
		answers := append([]llmtest.Answer{first}, fails(3, spends("two", llm.Usage{Input: 1300, Output: 20}))...)
		s := start(t, config(newService(t, append(answers, fails(11, llmtest.Says("never"))...)...)), 100, 30)
		s.types("/usage")
		s.sees("· Nothing was asked so far")
		s.types("question one")
		s.types("/usage")
		s.sees("· The last turn: 1,200 tokens in (1,000 cached, 64 written to the cache), 80 out (30 reasoning)\n",
			"· This conversation, 1 turn: 1,200 tokens in", "· No waiting so far\n", "· Cost unknown")
		s.types("question two")
		s.wait(time.Minute)
		s.types("/usage")
		s.sees("· The last turn: 1,300 tokens in, 20 out\n",
			"· This conversation, 2 turns: 2,500 tokens in (1,000 cached, 64 written to the cache), 100 out (30\nreasoning)\n",
			"· Waited in the last turn: 7s (3 retries); in all: 7s (3 retries)\n")
		s.types("question three")
		s.wait(4 * time.Second)
		s.types("/usage")
		s.sees("· This turn: no tokens reported\n", "· This conversation, 3 turns: 2,500 tokens in",
			"· Waited in this turn: 4s (2 retries); in all: 11s (5 retries)\n")
	})
}

func TestUsage_CountsTurnsFromBeforeItWasOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(withConversations(t, "one", "two"))
		c.Pick = true
		s := start(t, c, 40, 24)
		s.keys("enter")
		s.wait(time.Second)
		s.types("/usage")
		s.golden("usage")
	})
}

func TestPlain_Usage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, spends("one", llm.Usage{Input: 10, Output: 2}))))
		p.line("question")
		synctest.Wait()
		p.line("/usage")
		_ = p.in.Close()
		<-p.end
		want := "one\nThe last turn: 10 tokens in, 2 out\nThis conversation, 1 turn: 10 tokens in, 2 out\nNo waiting so far\n" +
			"Cost unknown: no provider states it with its answers\n"
		if got := p.said(); got != want {
			t.Errorf("output: got\n%swant\n%s", got, want)
		}
	})
}
