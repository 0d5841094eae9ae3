package cli

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/turn"
)

// newView gives the view that was asked for. unread is called when nobody
// reads the answer any more.
func (c *running) newView(unread func()) view {
	if c.json {
		return &lines{w: c.s.Out, unread: unread}
	}
	onErr := c.s
	onErr.Out = c.s.Err
	return &text{
		out: c.s.Out, screen: newScreen(onErr, c.plain), clean: isTerminal(c.s.Out), shared: isTerminal(c.s.Out) && isTerminal(c.s.Err),
		reasoning: c.reasoning, unread: unread, goOn: c.howToGoOn,
	}
}

// text shows the answer on one stream, and what happens on another.
type text struct {
	out       io.Writer
	screen    *screen // on standard error
	clean     bool    // the answer goes to a terminal, which obeys what a model says
	shared    bool    // both are the same terminal
	reasoning bool
	unread    func()
	goOn      func() string

	open     bool   // the last line of the answer has no end yet
	streamed string // what has been said of the message under way
	block    bool   // what comes next is another message's: it begins on a line of its own
	err      error
	wait     *countdown
}

func (v *text) show(e turn.Event) {
	switch e := e.(type) {
	case turn.TextDelta:
		v.say(e.Text)
		v.streamed += e.Text
	case turn.ReasoningDelta:
		if v.reasoning {
			v.screen.write(display.Sanitize(e.Text))
		}
	case turn.Restarted:
		if v.streamed != "" {
			v.note(amber, display.Restarted)
			v.streamed, v.block = "", true
		}
	case turn.AssistantMessage:
		if whole := e.Content.Text(); whole != v.streamed && !e.Partial { // the beginning was missed
			v.block = true
			v.say(whole)
		}
		v.streamed = ""
		v.block = true
		if e.Partial {
			v.note("", display.BrokeOff)
		}
	case turn.ToolCall:
		v.note(faint, "· %s %s", display.OneLine(e.Name), display.OneLine(display.Arguments(e.ToolCall)))
	case turn.ToolResult:
		if e.Failed {
			v.note(faint, "· %s failed: %s", display.OneLine(e.Name), display.OneLine(e.Output))
		}
	case turn.Compacted:
		v.note(faint, display.Compacted)
	default:
		v.trouble(e)
	}
}

// trouble shows what happens to the provider.
func (v *text) trouble(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		v.stop()
		v.wait = v.count(e)
	case turn.Waiting:
		if !v.screen.live && v.wait != nil {
			v.note(amber, "%s", v.wait.Line(e.Remaining, time.Now(), v.screen.columns()))
		}
	case turn.Recovered:
		v.stop()
		v.note(green, "%s", display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		v.stop()
		v.note(amber, "%s", display.Switched(e))
	case turn.Error:
		v.stop()
		v.finishLine()
		v.note(red, "%s", display.Headline(e))
		v.note("", "  %s", strings.Join(display.Details(e), "\n  "))
	case turn.Sealed:
		v.stop()
		v.finishLine()
		if e.Status == turn.Aborted {
			v.note("", display.Canceled)
		}
	}
}

func (v *text) end(turn.Status, int, string, string) {
	if command := v.goOn(); command != "" {
		v.screen.print("", "saved; go on with: %s", command)
	}
}

func (v *text) broken() error { return v.err }

// say writes some of the answer. Between two messages there is a line's end.
func (v *text) say(words string) {
	v.stop()
	if v.block && v.open {
		words = "\n" + words
	}
	v.block = false
	if v.shared {
		v.screen.set("")
	}
	if v.screen.open { // nobody else writes there now
		v.screen.write("\n")
	}
	v.put(words)
}

// put writes to the answer's stream.
func (v *text) put(words string) {
	if v.clean {
		words = display.Sanitize(words)
	}
	if v.err != nil || words == "" {
		return
	}
	if _, v.err = io.WriteString(v.out, words); v.err != nil {
		v.unread()
	}
	v.open = !strings.HasSuffix(words, "\n")
}

// finishLine ends the answer's last line.
func (v *text) finishLine() {
	if v.open {
		v.put("\n")
	}
}

// note writes a line about what happens. On a shared terminal it does not
// stand behind half a line of the answer.
func (v *text) note(color, format string, args ...any) {
	if hasLeft(v.err) {
		return // whoever has left the answer is not told what becomes of it
	}
	if v.shared {
		v.finishLine()
	}
	v.screen.print(color, format, args...)
}

// stop ends the countdown.
func (v *text) stop() {
	if v.wait != nil {
		v.wait.end()
		v.wait = nil
	}
}

// countdown is a wait that people see getting shorter.
type countdown struct {
	display.Wait
	due  time.Time
	done chan struct{}
	wg   sync.WaitGroup
}

// count shows a wait: on a terminal second by second, else once.
func (v *text) count(e turn.Retry) *countdown {
	c := &countdown{Wait: display.Of(e), due: time.Now().Add(e.Delay), done: make(chan struct{})}
	line := func() string { return c.Line(time.Until(c.due), time.Now(), v.screen.columns()) }
	if !v.screen.live {
		v.note(amber, "%s", line())
		return c
	}
	if c.Attempt == 1 {
		v.note(faint, "%s", display.OneLine(e.Fault.Redacted()))
	} else if v.shared {
		v.finishLine()
	}
	v.screen.set(line())
	c.wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-c.done:
				v.screen.set("")
				return
			case <-ticker.C:
				v.screen.set(line())
			}
		}
	})
	return c
}

func (c *countdown) end() {
	close(c.done)
	c.wg.Wait()
}
