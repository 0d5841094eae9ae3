package tui_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm/llmtest"
)

func TestCompactCommand_ShortensThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("word ", 800)
		s := start(t, config(newService(t, append([]llmtest.Answer{llmtest.Says(long), llmtest.Says("two")}, fails(2, llmtest.Says("They talked."))...)...)), 80, 24)
		s.types("/compact")
		s.sees("There is no conversation yet")
		s.types("one")
		s.types("two")
		s.wait(time.Second)
		s.types("/compact the names")
		s.sees("> /compact the names", "▲ Server overloaded — retrying in")
		s.wait(10 * time.Second)
		s.sees("✓ Recovered after 2 retries", "· the conversation has been compacted: about 1,003 tokens before, 21 after")
	})
}

func TestCompactCommand_IsCanceledAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, llmtest.Says("one"), llmtest.Hangs())), 40, 24)
		s.types("question")
		s.types("/compact the names")
		s.sees("· working…")
		s.keys("ctrl+c")
		s.wait(time.Second)
		s.sees("Canceled.", "> /compact the names\n  ")
	})
}

func TestPlain_Compact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, llmtest.Says("one"), llmtest.Says("They talked."))))
		p.line("/compact")
		p.line("question")
		synctest.Wait()
		p.line("/compact the names")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		if got := p.said(); !strings.HasPrefix(got, "× there is no conversation yet\none\n· the conversation has been compacted: about 3 tokens before, ") {
			t.Errorf("output: got %q, want the shortened conversation", got)
		}
	})
}

func TestPlain_AgainCompactsWhereThatHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, append([]llmtest.Answer{llmtest.Says("one")}, fails(11, llmtest.Says("They talked."))...)...)
		p := startPlain(t, config(h))
		p.line("question")
		synctest.Wait()
		p.line("/compact the names")
		time.Sleep(time.Hour)
		p.line("/again")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: got error %v, want none after it has worked", err)
		}
		asked := h.model.Requests()
		if got := asked[len(asked)-1].System; !strings.HasSuffix(got, "the names") || !strings.Contains(p.said(), "has been compacted") {
			t.Errorf("output: got %q, system prompt %q, want the conversation compacted as asked before", p.said(), got)
		}
	})
}
