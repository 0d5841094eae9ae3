package agentcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// newView returns the view that the flags select. It calls unread once the answer can no longer be written.
func (c *runCmd) newView(unread func()) view {
	if c.json {
		return &jsonView{w: command.JSON(c.Streams.Out), unread: unread}
	}
	v := newTextView(c.Streams, c.plain, unread)
	v.reasoning, v.continueCommand, v.waitLimit = c.reasoning, c.continueCommand, c.waitLimit
	switch {
	case c.maxTokens > 0:
		v.moreTokens = fmt.Sprintf(" (--max-tokens %d; a larger one allows more)", c.maxTokens)
	case c.serverURL() == "":
		v.moreTokens = " (--max-tokens may allow more)"
	}
	return v
}

// newTextView returns a view of a turn without visible reasoning that cannot be continued.
func newTextView(s command.Streams, plain bool, unread func()) *textView {
	onErr, clean := s, command.IsTerminal(s.Out)
	onErr.Out = s.Err
	return &textView{
		out: s.Out, screen: command.NewScreen(onErr, plain), clean: clean, shared: clean && command.IsTerminal(s.Err),
		unread: unread, continueCommand: func() string { return "" }, waitLimit: func(turn.Error) string { return "" },
	}
}

type textView struct {
	out             io.Writer
	screen          *command.Screen // on standard error
	clean           bool            // the answer goes to a terminal and must not contain control sequences
	shared          bool            // both are the same terminal
	reasoning       bool
	unread          func()
	continueCommand func() string
	waitLimit       func(turn.Error) string
	moreTokens      string // follows the line that says that the answer ended at its limit

	open     bool   // the last line of the answer is incomplete
	streamed string // the text of the message in progress so far
	block    bool   // the next text belongs to another message and starts on a new line
	err      error
	wait     *policy.Wait // in progress
	redrawn  func()       // ends its redrawing
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
			v.note(command.Amber, display.Restarted)
			v.streamed, v.block = "", true
		}
	case turn.AssistantMessage:
		if whole := e.Content.Text(); whole != v.streamed && !e.Partial { // the beginning was missed
			v.block = true
			v.writeAnswer(whole)
		}
		v.streamed = ""
		v.block = true
		if why := display.Unfinished(e); why != "" {
			if why == display.AtLimit {
				why += v.moreTokens
			}
			v.note("", "%s", why)
		}
	case turn.ToolCall:
		v.note(command.Faint, "· %s %s", printable.Line(e.Name), printable.Line(display.Arguments(e.ToolCall)))
	case turn.ToolResult:
		if e.Failed {
			v.note(command.Faint, "· %s failed: %s", printable.Line(e.Name), printable.Line(e.Output))
		}
	case turn.Compacted:
		v.note(command.Faint, "%s", display.CompactedLine(e))
	default:
		v.showProvider(e)
	}
}

func (v *textView) showProvider(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		v.stopCountdown()
		v.count(e)
	case turn.Waiting:
		if !v.screen.Live && v.wait != nil {
			v.wait.Due = time.Now().Add(e.Remaining)
			v.note(command.Amber, "%s", display.WaitLine(*v.wait, time.Now(), v.screen.Columns()))
		}
	case turn.Recovered:
		v.stopCountdown()
		v.note(command.Green, "%s", display.Recovered(e.Retries, e.Waited))
	case turn.MCPRetry:
		v.note(command.Amber, "%s", display.MCPRetry(e))
	case turn.MCPRecovered:
		v.note(command.Green, "%s", display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		v.stopCountdown()
		v.note(command.Amber, "%s", display.Switched(e))
	case turn.Error:
		v.stopCountdown()
		v.finishLine()
		v.note(command.Red, "%s", display.Headline(e, time.Now()))
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

func (v *textView) stopCountdown() {
	if v.wait != nil {
		v.wait = nil
		v.redrawn()
		v.screen.Status("")
	}
}

func (v *textView) count(e turn.Retry) {
	w := e.Wait
	w.Due = time.Now().Add(e.Verdict.Wait)
	v.wait, v.redrawn = &w, func() {}
	line := func() string { return display.WaitLine(w, time.Now(), v.screen.Columns()) }
	if !v.screen.Live {
		v.note(command.Amber, "%s", line())
		return
	}
	if w.Retry() == 1 {
		v.note(command.Amber, "%s", display.FirstFailure(e.Fault))
	} else if v.shared {
		v.finishLine()
	}
	v.screen.Status(line())
	v.redrawn = v.screen.Redraw(context.Background(), func() { v.screen.Status(line()) })
}

type jsonView struct {
	w      io.Writer
	unread func() // called when they cannot be written any more
	seq    int64

	conversation string // at a server; "": the turn runs here
	server       string // its address; "": likewise
	turn         string // the turn in progress, or the last one

	err error
}

func (l *jsonView) show(e turn.Event) {
	if s, ok := e.(turn.Start); ok {
		l.turn = s.ID
	}
	l.write(wire.Turn{Ref: wire.Ref{ConversationID: l.conversation, TurnID: l.turn}, Event: e})
}

func (l *jsonView) end(status turn.Status, code int, message, saved string) {
	exit := wire.Exit{Status: string(status), ExitCode: code, Message: message, Saved: saved, Server: l.server, ConversationID: l.conversation}
	if exit.ConversationID != "" {
		exit.TurnID = l.turn
	}
	l.write(exit)
}

func (l *jsonView) write(b wire.Body) {
	if l.err != nil {
		return
	}
	l.seq++
	line, err := json.Marshal(wire.Event{Seq: l.seq, Time: time.Now(), Body: b})
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil {
		l.err = err
		l.unread()
	}
}

func (l *jsonView) broken() error { return l.err }
