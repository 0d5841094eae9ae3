package tui_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm/llmtest"
)

const (
	pausedLine = "▲ Paused: no model is asked until /unpause, and what you say waits"
	goesOnLine = "· the conversation goes on"
)

func TestPauseCommand_StopsAWaitUntilItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, append(fails(1, llmtest.Says("one")), llmtest.Says("two"))...)
		s := start(t, config(h), 80, 24)
		s.types("/pause")
		s.sees("There is no conversation yet")
		s.types("question")
		s.wait(100 * time.Millisecond)
		s.types("/pause")
		s.wait(time.Hour)
		s.types("and?")
		s.wait(time.Second)
		s.sees(pausedLine, "next: and?")
		if n := len(h.model.Requests()); n != 1 {
			t.Errorf("the model was asked %d times, want once before the pause", n)
		}
		s.types("/pause")
		s.sees("The conversation is paused; /unpause ends that")
		s.types("/unpause")
		s.wait(time.Minute)
		s.sees(goesOnLine, "one", "two")
		s.types("/unpause")
		s.sees("The conversation is not paused")
	})
}

// A client that opens a paused conversation learns of the pause.
func TestPauseCommand_IsSaidWhereOneAttaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"), llmtest.Says("two"))
		c := config(h)
		s := start(t, c, 80, 24)
		s.types("question")
		s.wait(time.Second)
		s.types("/pause")
		s.wait(time.Second)
		conv, err := c.Conversations.Open(t.Context(), "conv-a")
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		c.Conversation = conv
		again := start(t, c, 80, 24)
		again.wait(time.Second)
		again.sees("one", pausedLine)
		again.types("/unpause")
		again.wait(time.Second)
		again.sees(goesOnLine)
	})
}

// Piped input does not wait for an answer that a pause holds back.
func TestPlain_Pause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newService(t, llmtest.Says("one"), llmtest.Says("two")))
		p := startPlain(t, c)
		p.line("/pause")
		p.line("question")
		synctest.Wait()
		p.line("/pause")
		synctest.Wait()
		p.line("/pause")
		p.line("and?")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		want := "× there is no conversation yet\none\n" + pausedLine + "\nThe conversation is paused; /unpause ends that\n"
		if got := p.said(); !strings.HasPrefix(got, want) || strings.Contains(got, "two") {
			t.Errorf("output: got %q, want %q and no second answer", got, want)
		}
	})
}
