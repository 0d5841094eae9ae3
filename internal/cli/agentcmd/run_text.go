package agentcmd

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// newView returns the view that flags choose. unread is called when the answer cannot be written any more.
func (c *runCmd) newView(unread func()) view {
	if c.json {
		return &jsonView{w: command.JSON(c.streams.Out), unread: unread}
	}
	v := newTextView(c.streams, c.plain, unread)
	v.reasoning, v.continueCommand, v.waitLimit = c.reasoning, c.continueCommand, c.waitLimit
	return v
}

// newTextView returns a view of a turn that has no reasoning to show and cannot be continued.
func newTextView(s command.Streams, plain bool, unread func()) *textView {
	onErr, clean := s, command.IsTerminal(s.Out)
	onErr.Out = s.Err
	return &textView{
		out: s.Out, screen: screen.New(onErr, plain), clean: clean, shared: clean && command.IsTerminal(s.Err),
		unread: unread, continueCommand: func() string { return "" }, waitLimit: func(turn.Error) string { return "" },
	}
}

// textView shows the answer on one stream and progress on another.
type textView struct {
	out             io.Writer
	screen          *screen.Screen // on standard error
	clean           bool           // the answer goes to a terminal and must not contain control sequences
	shared          bool           // both are the same terminal
	reasoning       bool
	unread          func()
	continueCommand func() string
	waitLimit       func(turn.Error) string

	open     bool   // the last line of the answer is incomplete
	streamed string // the text of the message in progress so far
	block    bool   // the next text belongs to another message and starts on a new line
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
			v.screen.Write(printable.Text(e.Text))
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
		v.note(screen.Faint, "· %s %s", printable.Line(e.Name), printable.Line(display.Arguments(e.ToolCall)))
	case turn.ToolResult:
		if e.Failed {
			v.note(screen.Faint, "· %s failed: %s", printable.Line(e.Name), printable.Line(e.Output))
		}
	case turn.Compacted:
		v.note(screen.Faint, "%s", display.CompactedLine(e))
	default:
		v.showProvider(e)
	}
}

// showProvider shows an event of a provider call, or the end of the turn.
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
	case turn.MCPRetry:
		v.note(screen.Amber, "%s", display.MCPRetry(e))
	case turn.MCPRecovered:
		v.note(screen.Green, "%s", display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		v.stopCountdown()
		v.note(screen.Amber, "%s", display.Switched(e))
	case turn.Error:
		v.stopCountdown()
		v.finishLine()
		v.note(screen.Red, "%s", display.Headline(e, time.Now()))
		v.note("", "  %s", strings.Join(display.Details(e), "\n  "))
		if limit := v.waitLimit(e); limit != "" {
			v.note("", "  %s", limit)
		}
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

// writeAnswer writes a part of the answer. Each message starts on a new line.
func (v *textView) writeAnswer(text string) {
	v.stopCountdown()
	if v.block && v.open {
		text = "\n" + text
	}
	v.block = false
	if v.shared {
		v.screen.Status("")
	}
	if v.screen.Open { // the screen is not the answer's stream
		v.screen.Write("\n")
	}
	v.put(text)
}

// put writes to the answer's stream.
func (v *textView) put(text string) {
	if v.clean {
		text = printable.Text(text)
	}
	if v.err != nil || text == "" {
		return
	}
	if _, v.err = io.WriteString(v.out, text); v.err != nil {
		v.unread()
	}
	v.open = !strings.HasSuffix(text, "\n")
}

// finishLine ends the answer's last line, if it is incomplete.
func (v *textView) finishLine() {
	if v.open {
		v.put("\n")
	}
}

// note writes a line of progress. On a shared terminal it ends the answer's line first.
func (v *textView) note(color, format string, args ...any) {
	if readerLeft(v.err) {
		return // the reader of the answer has left
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

// countdown is a wait that is shown until it ends.
type countdown struct {
	policy.Wait
	done chan struct{}
	wg   sync.WaitGroup
}

// count shows a wait, redrawn every second on a terminal and once otherwise.
func (v *textView) count(e turn.Retry) *countdown {
	c := &countdown{Wait: e.Wait, done: make(chan struct{})}
	c.Due = time.Now().Add(e.Verdict.Wait)
	line := func() string { return display.WaitLine(c.Wait, time.Now(), v.screen.Columns()) }
	if !v.screen.Live {
		v.note(screen.Amber, "%s", line())
		return c
	}
	if c.Retry() == 1 {
		v.note(screen.Amber, "%s", display.FirstFailure(e.Fault))
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
