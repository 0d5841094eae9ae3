package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// withConversations is a service with a conversation for each prompt, an hour apart.
func withConversations(t *testing.T, prompts ...string) *service {
	h := newService(t)
	h.model.Then = llmtest.Says("answer")
	for i, prompt := range prompts {
		conv, err := h.New(t.Context(), conversation.Settings{Model: "acme/large"})
		if err == nil {
			err = conv.Do(t.Context(), tui.Send{ID: fmt.Sprint("first-", i), Text: prompt})
		}
		if err != nil {
			t.Fatalf("conversation %d: %v", i, err)
		}
		time.Sleep(time.Hour)
	}
	return h
}

func TestResume_ChoosesFromAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withConversations(t, "Why is the sky blue?", "Name three rivers", "How deep is the sea?")
		s := start(t, config(h), 80, 24)
		s.types("/resume")
		s.sees("> How deep is the sea?", "  Name three rivers", "  Why is the sky blue?", "1h ago · large · 1 turn\n", "3h ago · large · 1 turn\n")
		s.misses("conv-")
		s.keys("down", "down", "up")
		s.sees("> Name three rivers")
		for _, r := range "BLUE sky" {
			s.keys(string(r))
		}
		s.sees("> Why is the sky blue?", "> BLUE sky")
		s.misses("rivers")
		s.keys("x")
		s.sees("No conversation has these words")
		s.keys("esc")
		s.sees("rivers", "blue")
		s.keys("esc")
		s.misses("rivers", "blue")
		s.types("/resume")
		s.keys("down", "enter")
		s.wait(time.Second)
		s.sees("> Name three rivers\n\nanswer")
		s.types("/title A list of rivers")
		s.sees("· The title is now A list of rivers")
		if v, err := h.runner.Get(t.Context(), "conv-b"); err != nil || v.Settings.Title != "A list of rivers" {
			t.Errorf("title: got %q, %v, want A list of rivers", v.Settings.Title, err)
		}
	})
}

func TestResume_FitsFortyColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(withConversations(t, strings.Repeat("Why is the sky so very blue? ", 3), "日本の首都はどこですか。日本の首都はどこですか。日本の首都はどこですか。"))
		c.Pick = true
		s := start(t, c, 40, 12)
		s.golden("picker")
	})
}

func TestResume_KeepsTheDraftAndTheWaitVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withConversations(t, "one")
		synctest.Wait() // the turn before has ended
		h.model.Then = llmtest.Fails(busy)
		s := start(t, config(h), 80, 24)
		s.types("two")
		s.types("/resume")
		s.sees("> one", "▲ Server overloaded")
		s.keys("r", "ctrl+c")
		s.misses("> one")
		s.sees("▲ Server overloaded")
	})
}

func TestTitle_IsShownAndNeedsAConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Says("one"))
		s := start(t, config(h), 80, 24)
		s.types("/title Rivers")
		s.sees("There is no conversation yet")
		s.types("Name three rivers")
		s.types("/title")
		s.sees("The title is Name three rivers; /title WORDS changes it")
	})
}

func TestPlain_ChoosesByNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withConversations(t, "Why is the sky blue?", "Name three rivers")
		c := config(h)
		c.Pick = true
		p := startPlain(t, c)
		synctest.Wait()
		p.line("2")
		synctest.Wait()
		p.line("/title Sky")
		synctest.Wait()
		p.line("/title")
		p.line("7")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		want := "   1  Name three rivers (1h ago, large, 1 turn)\n   2  Why is the sky blue? (2h ago, large, 1 turn)\n" +
			"Type a number to continue that conversation\n· Why is the sky blue?\n· The title is now Sky\n" +
			"The title is Sky; /title WORDS changes it\nanswer\n"
		if got := p.said(); got != want {
			t.Errorf("output: got\n%swant\n%s", got, want)
		}
		if asked := h.model.Requests(); asked[len(asked)-1].Messages[2].Text() != "7" {
			t.Errorf("last message: got %q, want 7", asked[len(asked)-1].Messages[2].Text())
		}
	})
}
