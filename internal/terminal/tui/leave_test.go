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
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

func TestWhoLeavesWhatIsUnderWayIsToldHowItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(11, llmtest.Says("never"))...)), 80, 24)
		s.types("one")
		s.types("two")
		s.types("/new")
		s.sees("· The turn in progress is kept: /resume talk-a continues it")
	})
}

func TestAConversationIsOnlyLeftForOneThatCanBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, config(newHouse(t, fails(3, llmtest.Says("Back."))...)), 80, 24)
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

// expected is a conversation in which a tool wants to be allowed; answered counts.
func asked(t *testing.T, answered *int) tui.Config {
	h := newHouse(t, llmtest.Calls(llmtest.Call("1", "write_file", `{}`)), llmtest.Says("done"))
	ran := 0
	h.tools = []tool.Tool{write(&ran)}
	c := config(h)
	questions := make(chan tui.Approval)
	h.approve = func(ctx context.Context, call llm.ToolCall) error {
		refused := make(chan struct{}, 1)
		select {
		case questions <- tui.Approval{Call: call, Answer: func(bool) { *answered++; refused <- struct{}{} }}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-refused:
			return errors.New("the user said no")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.Approvals = questions
	return c
}

// A no would be kept: the question is for whoever goes on.
func TestWhoLeavesAQuestionOpenHasNotAnsweredIt(t *testing.T) {
	for _, leave := range []string{"/quit", "/new"} {
		synctest.Test(t, func(t *testing.T) {
			answered := 0
			s := play(t, asked(t, &answered), 80, 24)
			s.types("x")
			s.sees("? May write_file run")
			s.types(leave)
			s.wait(time.Second)
			if answered != 0 {
				t.Errorf("%s has answered it:\n%s", leave, s.screen())
			}
		})
		synctest.Test(t, func(t *testing.T) {
			answered := 0
			c := asked(t, &answered)
			ctx, cancel := context.WithCancel(t.Context())
			in, w := io.Pipe()
			defer w.Close()
			c.In, c.Out, c.Plain, c.Prompt, c.Env = in, io.Discard, true, "x", terminalEnv()
			end := make(chan error, 1)
			go func() { end <- tui.Run(ctx, c) }()
			time.Sleep(time.Second)
			cancel()
			if err := <-end; err != nil || answered != 0 {
				t.Errorf("%v; it was answered %d times", err, answered)
			}
		})
	}
}

func TestAQuestionIsRefusedWhenTheInputHasEndedBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := 0
		p := talkOver(t, asked(t, &answered))
		p.line("x")
		time.Sleep(time.Second)
		_ = p.in.Close()
		select {
		case err := <-p.end:
			if err != nil || answered != 1 || !strings.Contains(p.said(), "refused, because the input has ended") || !strings.Contains(p.said(), "done") {
				t.Errorf("%v, answered %d times:\n%s", err, answered, p.said())
			}
		case <-time.After(time.Minute):
			t.Fatalf("it waits for somebody who has gone:\n%s", p.said())
		}
	})
}

// stuckHouse has conversations that cannot be closed.
type stuckHouse struct{ *house }

func (h stuckHouse) New(ctx context.Context, s conversation.Settings) (tui.Conversation, error) {
	t, err := h.house.New(ctx, s)
	return stuckTalk{t}, err
}

type stuckTalk struct{ tui.Conversation }

func (stuckTalk) Close() error { select {} }

func TestASecondCtrlCLeavesThoughTheCancelFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Hangs())
		h.unstopped = errors.New("the server cannot be reached")
		s := play(t, config(h), 80, 24)
		s.types("x")
		s.keys("ctrl+c")
		s.wait(0)
		s.sees("× Could not cancel: the server cannot be reached", "Press Ctrl+C again to quit")
		s.wait(time.Minute)
		s.keys("ctrl+c")
		s.wait(time.Second)
		if !s.gone() {
			t.Error("it is still there")
		}
	})
}
