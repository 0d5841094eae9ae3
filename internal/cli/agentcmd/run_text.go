package agentcmd

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// newView gives the view that was asked for. unread is called when nobody
// reads the answer any more.
func (c *runCmd) newView(unread func()) view {
	if c.json {
		return &jsonView{w: c.streams.Out, unread: unread}
	}
	onErr := c.streams
	onErr.Out = c.streams.Err
	return &textView{
		out: c.streams.Out, screen: screen.New(onErr, c.plain), clean: command.IsTerminal(c.streams.Out), shared: command.IsTerminal(c.streams.Out) && command.IsTerminal(c.streams.Err),
		reasoning: c.reasoning, unread: unread, continueCommand: c.continueCommand,
	}
}

// Text shows the answer on one stream, and what happens on another.
type textView struct {
	out             io.Writer
	screen          *screen.Screen // on standard error
	clean           bool           // the answer goes to a terminal, which obeys what a model says
	shared          bool           // both are the same terminal
	reasoning       bool
	unread          func()
	continueCommand func() string

	open     bool   // the last line of the answer has no end yet
	streamed string // what has been said of the message under way
	block    bool   // what comes next is another message's: it begins on a line of its own
	err      error
	wait     *countdown
}

func (v *textView) show(e turn.Event) {
	switch e := e.(type) {
	case turn.TextDelta:
		v.writeAnswer(e.Text)
		v.streamed += e.Text
	case turn.ReasoningDelta:
		if v.reasoning {
			v.screen.Write(display.Sanitize(e.Text))
		}
	case turn.Restarted:
		if v.streamed != "" {
			v.note(screen.Amber, display.Restarted)
			v.streamed, v.block = "", true
		}
	case turn.AssistantMessage:
		if whole := e.Content.Text(); whole != v.streamed && !e.Partial { // the beginning was missed
			v.block = true
			v.writeAnswer(whole)
		}
		v.streamed = ""
		v.block = true
		if e.Partial {
			v.note("", display.BrokeOff)
		}
	case turn.ToolCall:
		v.note(screen.Faint, "· %s %s", display.OneLine(e.Name), display.OneLine(display.Arguments(e.ToolCall)))
	case turn.ToolResult:
		if e.Failed {
			v.note(screen.Faint, "· %s failed: %s", display.OneLine(e.Name), display.OneLine(e.Output))
		}
	case turn.Compacted:
		v.note(screen.Faint, display.Compacted)
	default:
		v.showProvider(e)
	}
}

// showProvider shows what happens to the provider.
func (v *textView) showProvider(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		v.stopCountdown()
		v.wait = v.count(e)
	case turn.Waiting:
		if !v.screen.Live && v.wait != nil {
			v.wait.Due = time.Now().Add(e.Remaining)
			v.note(screen.Amber, "%s", display.WaitLine(v.wait.Wait, time.Now(), v.screen.Columns()))
		}
	case turn.Recovered:
		v.stopCountdown()
		v.note(screen.Green, "%s", display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		v.stopCountdown()
		v.note(screen.Amber, "%s", display.Switched(e))
	case turn.Error:
		v.stopCountdown()
		v.finishLine()
		v.note(screen.Red, "%s", display.Headline(e))
		v.note("", "  %s", strings.Join(display.Details(e), "\n  "))
	case turn.Sealed:
		v.stopCountdown()
		v.finishLine()
		if e.Status == turn.Aborted {
			v.note("", display.Canceled)
		}
	}
}

func (v *textView) end(turn.Status, int, string, string) {
	if how := v.continueCommand(); how != "" {
		v.screen.Print("", "saved; continue with: %s", how)
	}
}

func (v *textView) broken() error { return v.err }

// writeAnswer writes some of the answer. Between two messages there is a line's end.
func (v *textView) writeAnswer(words string) {
	v.stopCountdown()
	if v.block && v.open {
		words = "\n" + words
	}
	v.block = false
	if v.shared {
		v.screen.Status("")
	}
	if v.screen.Open { // nobody else writes there now
		v.screen.Write("\n")
	}
	v.put(words)
}

// put writes to the answer's stream.
func (v *textView) put(words string) {
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
func (v *textView) finishLine() {
	if v.open {
		v.put("\n")
	}
}

// note writes a line about what happens. On a shared terminal it does not
// stand behind half a line of the answer.
func (v *textView) note(color, format string, args ...any) {
	if readerLeft(v.err) {
		return // whoever has left the answer is not told what becomes of it
	}
	if v.shared {
		v.finishLine()
	}
	v.screen.Print(color, format, args...)
}

// stopCountdown ends the countdown.
func (v *textView) stopCountdown() {
	if v.wait != nil {
		v.wait.end()
		v.wait = nil
	}
}

// countdown is a wait that people see getting shorter.
type countdown struct {
	policy.Wait
	done chan struct{}
	wg   sync.WaitGroup
}

// count shows a wait: on a terminal second by second, else once.
func (v *textView) count(e turn.Retry) *countdown {
	c := &countdown{Wait: e.Wait, done: make(chan struct{})}
	c.Due = time.Now().Add(e.Verdict.Wait)
	line := func() string { return display.WaitLine(c.Wait, time.Now(), v.screen.Columns()) }
	if !v.screen.Live {
		v.note(screen.Amber, "%s", line())
		return c
	}
	if c.Retry() == 1 {
		v.note(screen.Faint, "%s", display.OneLine(e.Fault.Redacted()))
	} else if v.shared {
		v.finishLine()
	}
	v.screen.Status(line())
	c.wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-c.done:
				v.screen.Status("")
				return
			case <-ticker.C:
				v.screen.Status(line())
			}
		}
	})
	return c
}

func (c *countdown) end() {
	close(c.done)
	c.wg.Wait()
}
