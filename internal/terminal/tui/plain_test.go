package tui_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

// pipe is a conversation over pipes.
type pipe struct {
	in  io.WriteCloser
	mu  sync.Mutex
	out strings.Builder
	end chan error
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *pipe) said() string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *pipe) line(text string) { _, _ = io.WriteString(p.in, text+"\n") }

// talkOver has a conversation over pipes.
func talkOver(t *testing.T, c tui.Config) *pipe {
	in, w := io.Pipe()
	p := &pipe{in: w, end: make(chan error, 1)}
	c.In, c.Out, c.Plain = in, p, true
	if c.Env == nil {
		c.Env = terminalEnv("LANG", "C.UTF-8")
	}
	c.Resume = func(id string) string { return "ridethrough chat --session " + id }
	go func() { p.end <- tui.Run(t.Context(), c) }()
	t.Cleanup(func() { _ = w.Close() })
	return p
}

func TestOverPipesLinesAreOnlyAppended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := talkOver(t, config(newHouse(t, append(fails(3, llmtest.Says("It is\nback.")), llmtest.Says("Twice."))...)))
		p.line("Are you \\")
		p.line("there?")
		p.line("And now?")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Error(err)
		}
		compare(t, "plain", p.said())
	})
}

func TestALongWaitIsALineEveryThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := talkOver(t, config(newHouse(t, llmtest.Fails(&fault.Error{Kind: fault.RateLimited, Status: 429, Message: "wait", Wait: 2 * time.Minute}), llmtest.Says("ok"))))
		p.line("x")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Error(err)
		}
		if n := strings.Count(p.said(), "▲ Rate limited — retrying in"); n != 5 { // the first, and four times thirty seconds
			t.Errorf("%d lines:\n%s", n, p.said())
		}
	})
}

func TestOverPipesTheLastFailureIsTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := talkOver(t, config(newHouse(t, fails(11, llmtest.Says("no"))...)))
		p.line("x")
		_ = p.in.Close()
		err := <-p.end
		if f, ok := errors.AsType[*tui.Failure](err); !ok || f.Cause.Kind != "overloaded" {
			t.Errorf("got %v", err)
		}
		for _, want := range []string{
			"Failed after 10 retry attempts. Check your connection and try again.\n  HTTP 529: Overloaded\n", "Nothing is lost",
			"To resume: ridethrough chat --session talk-a\n",
		} {
			if !strings.Contains(p.said(), want) {
				t.Errorf("there is no %q in\n%s", want, p.said())
			}
		}
	})
}

func TestOverPipesTheKeysAreCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := talkOver(t, config(newHouse(t, fails(12, llmtest.Says("At last."))...)))
		p.line("/now")
		p.line("x")
		time.Sleep(40 * time.Second)
		p.line("/now")
		time.Sleep(time.Second)
		if !strings.Contains(p.said(), "× there is no conversation yet\n") || !strings.Contains(p.said(), "(attempt 7/10)") {
			t.Errorf("got\n%s", p.said())
		}
		p.line("/stop")
		time.Sleep(time.Second)
		if !strings.HasSuffix(p.said(), "Canceled.\n") {
			t.Errorf("got\n%s", p.said())
		}
		p.line("/nonsense")
		p.line("/quit")
		if err := <-p.end; err != nil || !strings.Contains(p.said(), "Unknown command /nonsense") {
			t.Errorf("%v:\n%s", err, p.said())
		}
	})
}

func TestOverPipesMoreLinesCanComeThanTheQueueHasRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := talkOver(t, config(newHouse(t, llmtest.Hangs())))
		go func() {
			for range conversation.QueueBound + 10 {
				p.line("and?")
			}
		}()
		select {
		case err := <-p.end:
			t.Errorf("it has ended with what could not be said: %v\n%s", err, p.said())
		case <-time.After(time.Minute):
		}
	})
}

func TestOverPipesAToolIsAllowedByALineAndByNobodyRefused(t *testing.T) {
	for _, there := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			h := newHouse(t, llmtest.Calls(llmtest.Call("1", "write_file", `{}`)), llmtest.Says("done"))
			h.tools = []tool.Tool{write(&ran)}
			c := config(h)
			c.Approvals = asking(h)
			p := talkOver(t, c)
			p.line("x")
			if there {
				time.Sleep(time.Second)
				p.line("what?")
				p.line("y")
			}
			_ = p.in.Close()
			if err := <-p.end; err != nil {
				t.Error(err)
			}
			if want := map[bool]int{true: 1, false: 0}[there]; ran != want {
				t.Errorf("somebody there: %v; it ran %d times:\n%s", there, ran, p.said())
			}
			if !there && !strings.Contains(p.said(), "refused") {
				t.Errorf("nobody is told:\n%s", p.said())
			}
		})
	}
}

func TestWhereNobodyReadsAnyMoreItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newHouse(t, llmtest.Says("one two three")))
		in, w := io.Pipe()
		out, gone := io.Pipe()
		_ = out.Close()
		c.In, c.Out, c.Plain, c.Env = in, gone, true, terminalEnv()
		end := make(chan error, 1)
		go func() { end <- tui.Run(t.Context(), c) }()
		_, _ = io.WriteString(w, "x\n")
		if err := <-end; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
		_ = w.Close()
	})
}
