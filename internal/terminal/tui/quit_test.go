package tui_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

func TestSlash_NewSaysHowToResumeTheTurnInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(11, llmtest.Says("never"))...)), 80, 24)
		s.types("one")
		s.types("two")
		s.types("/new")
		s.sees("· The turn in progress is kept: /resume continues it")
	})
}

func TestSlash_FailedResumeKeepsTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(3, llmtest.Says("Back."))...)), 80, 24)
		s.types("one")
		s.types("/resume busy")
		s.sees("× That conversation is open in another terminal", "▲ Server overloaded")
		s.wait(time.Minute)
		s.sees("Back.")
		s.types("/resume none")
		s.types("two")
		s.sees("> one", "> two")
	})
}

// withQuestion is a service in which a tool needs approval.
func withQuestion(t *testing.T) *service {
	h := newService(t, llmtest.Calls(llmtest.Call("1", "write_file", `{}`)), llmtest.Says("done"))
	ran := 0
	h.tools = []tool.Tool{writeTool(&ran)}
	return h
}

// A refusal would be stored: the question is asked again when the conversation continues.
func TestApproval_QuittingLeavesTheQuestionOpen(t *testing.T) {
	for _, leave := range []string{"/quit", "/new"} {
		synctest.Test(t, func(t *testing.T) {
			h := withQuestion(t)
			s := start(t, config(h), 80, 24)
			s.types("x")
			s.sees("? May write_file run")
			s.types(leave)
			s.wait(time.Second)
			if len(h.answered) != 0 {
				t.Errorf("answers after %s: got %v, want none:\n%s", leave, h.answered, s.screen())
			}
		})
		synctest.Test(t, func(t *testing.T) {
			h := withQuestion(t)
			c := config(h)
			ctx, cancel := context.WithCancel(t.Context())
			in, w := io.Pipe()
			defer w.Close()
			c.In, c.Out, c.Plain, c.Prompt, c.Env = in, io.Discard, true, "x", terminalEnv()
			end := make(chan error, 1)
			go func() { end <- tui.Run(ctx, c) }()
			time.Sleep(time.Second)
			cancel()
			if err := <-end; err != nil || len(h.answered) != 0 {
				t.Errorf("Run, answers: got %v, %v, want nil, none", err, h.answered)
			}
		})
	}
}

func TestPlain_EndOfInputRefusesTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withQuestion(t)
		p := startPlain(t, config(h))
		p.line("x")
		time.Sleep(time.Second)
		_ = p.in.Close()
		select {
		case err := <-p.end:
			if err != nil || len(h.answered) != 1 || !strings.Contains(p.said(), "refused, because the input has ended") || !strings.Contains(p.said(), "done") {
				t.Errorf("Run, answers: got %v, %v, want nil, 1 refusal:\n%s", err, h.answered, p.said())
			}
		case <-time.After(time.Minute):
			t.Fatalf("Run: got no end, want one:\n%s", p.said())
		}
	})
}

// stuckService has conversations that do not close.
type stuckService struct{ *service }

func (s stuckService) New(ctx context.Context, with conversation.Settings) (tui.Conversation, error) {
	c, err := s.service.New(ctx, with)
	return stuckConversation{c}, err
}

type stuckConversation struct{ tui.Conversation }

func (stuckConversation) Close() error { select {} }

func TestCtrlC_QuitsAfterAFailedCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newService(t, llmtest.Hangs())
		h.cancelErr = errors.New("the server cannot be reached")
		s := start(t, config(h), 80, 24)
		s.types("x")
		s.keys("ctrl+c")
		s.wait(0)
		s.sees("× Could not cancel: the server cannot be reached", "Press Ctrl+C again to quit")
		s.wait(time.Minute)
		s.keys("ctrl+c")
		s.wait(time.Second)
		if !s.ended() {
			t.Error("program after a second Ctrl+C: got it running, want it ended")
		}
	})
}
