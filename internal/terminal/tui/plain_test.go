package tui_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

// pipe is a running program in plain mode.
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

// startPlain starts a program in plain mode.
func startPlain(t *testing.T, c tui.Config) *pipe {
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

func TestPlain_AppendsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, append(fails(3, llmtest.Says("It is\nback.")), llmtest.Says("Twice."))...)))
		p.line("Are you \\")
		p.line("there?")
		p.line("And now?")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: %v", err)
		}
		compare(t, "plain", p.said())
	})
}

func TestPlain_LongWaitIsALineEveryThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, llmtest.Fails(&fault.Error{Kind: fault.RateLimited, Status: 429, Message: "wait", Wait: 2 * time.Minute}), llmtest.Says("ok"))))
		p.line("x")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := strings.Count(p.said(), "▲ Rate limited — retrying in"); n != 5 { // the first, and four times thirty seconds
			t.Errorf("lines about the wait: got %d, want 5:\n%s", n, p.said())
		}
	})
}

func TestPlain_LastFailureIsTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, fails(11, llmtest.Says("no"))...)))
		p.line("x")
		_ = p.in.Close()
		err := <-p.end
		if f, ok := errors.AsType[*tui.Failure](err); !ok || f.Cause.Kind != "overloaded" {
			t.Errorf("Run: got %v, want the overloaded Failure", err)
		}
		for _, want := range []string{
			"Failed after 10 retry attempts. acme was overloaded for 3m1s.\n  HTTP 529: Overloaded\n", "Nothing is lost",
			"To resume: ridethrough chat --session conv-a\n",
		} {
			if !strings.Contains(p.said(), want) {
				t.Errorf("output: got no %q, want it:\n%s", want, p.said())
			}
		}
	})
}

func TestPlain_ShortcutsAreCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, fails(12, llmtest.Says("At last."))...)))
		p.line("/now")
		p.line("x")
		time.Sleep(40 * time.Second)
		p.line("/now")
		time.Sleep(time.Second)
		if !strings.Contains(p.said(), "× there is no conversation yet\n") || !strings.HasSuffix(p.said(), "retrying in 21s… (attempt 6/10) • Press Ctrl+C to cancel\n") {
			t.Errorf("output after /now, in vain: got this, want the rest of the sixth wait:\n%s", p.said())
		}
		p.line("/stop")
		time.Sleep(time.Second)
		if !strings.HasSuffix(p.said(), "Canceled.\n") {
			t.Errorf("output after /stop: got no \"Canceled.\", want it:\n%s", p.said())
		}
		p.line("/nonsense")
		p.line("/quit")
		if err := <-p.end; err != nil || !strings.Contains(p.said(), "Unknown command /nonsense") {
			t.Errorf("Run: got %v, want nil and an unknown command:\n%s", err, p.said())
		}
	})
}

func TestPlain_ReadsNoMoreThanTheQueueHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPlain(t, config(newService(t, llmtest.Hangs())))
		go func() {
			for range conversation.MaxQueue + 10 {
				p.line("and?")
			}
		}()
		select {
		case err := <-p.end:
			t.Errorf("Run: got %v, want it to wait for room in the queue:\n%s", err, p.said())
		case <-time.After(time.Minute):
		}
	})
}

func TestPlain_ApprovalNeedsALine(t *testing.T) {
	for _, there := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			h := newService(t, llmtest.Calls(llmtest.Call("1", "write_file", `{}`)), llmtest.Says("done"), llmtest.Says("and more"))
			h.tools = []tool.Tool{writeTool(&ran)}
			p := startPlain(t, config(h))
			p.line("x")
			if there {
				time.Sleep(time.Second)
				p.line("what?")
				p.line("y")
				p.line("and the next prompt")
			}
			_ = p.in.Close()
			if err := <-p.end; err != nil {
				t.Errorf("Run: %v", err)
			}
			if want := map[bool]int{true: 1, false: 0}[there]; ran != want {
				t.Errorf("runs with an answer %v: got %d, want %d:\n%s", there, ran, want, p.said())
			}
			if there && len(h.model.Requests()) != 3 {
				t.Errorf("requests with a prompt behind the answer: got %d, want 3:\n%s", len(h.model.Requests()), p.said())
			}
			if !there && !strings.Contains(p.said(), "refused") {
				t.Errorf("output without an answer: got no refusal, want one:\n%s", p.said())
			}
		})
	}
}

func TestPlain_EndsWhenTheOutputIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newService(t, llmtest.Says("one two three")))
		in, w := io.Pipe()
		out, gone := io.Pipe()
		_ = out.Close()
		c.In, c.Out, c.Plain, c.Env = in, gone, true, terminalEnv()
		end := make(chan error, 1)
		go func() { end <- tui.Run(t.Context(), c) }()
		_, _ = io.WriteString(w, "x\n")
		if err := <-end; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Run: got %v, want ErrClosedPipe", err)
		}
		_ = w.Close()
	})
}

// hostileList lists a conversation whose names a terminal would obey.
type hostileList struct{ tui.Conversations }

func (hostileList) List(context.Context) iter.Seq2[tui.Entry, error] {
	return func(yield func(tui.Entry, error) bool) {
		const name = "x\x1b[2J\u202ey"
		yield(tui.Entry{View: conversation.View{ID: name, Settings: conversation.Settings{Title: name}}}, nil)
	}
}

func TestPlain_NamesOfAServerArePrintable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(newService(t))
		c.Conversations = hostileList{c.Conversations}
		p := startPlain(t, c)
		p.line("/resume")
		_ = p.in.Close()
		if err := <-p.end; err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		got := p.said()
		if i := strings.IndexFunc(got, func(r rune) bool { return !printable.Is(r) }); i >= 0 || strings.Count(got, "x␛[2Jy") != 1 {
			t.Errorf("list: got %q, want a printable name", got)
		}
	})
}
