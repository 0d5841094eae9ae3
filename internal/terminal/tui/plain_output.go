package tui

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/turn"
)

func (ps *plainSession) onProviderEvent(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		if ps.wait != nil {
			if slower := display.Slower(*ps.wait, e.Wait, time.Now()); slower != "" {
				ps.line(slower)
			}
		}
		ps.wait = &e.Wait
		ps.waitFor(e.Verdict.Wait)
	case turn.Waiting:
		if ps.wait != nil {
			ps.waitFor(e.Remaining)
		}
	case turn.Recovered, turn.Switched:
		ps.wait = nil
	case turn.Error:
		ps.wait = nil
		ps.failed = &Failure{e}
		for _, line := range failureText(e, "/wait", "/model", "/again") {
			ps.line(line)
		}
	}
	if _, line := lineOf(e); line != "" {
		ps.line(line)
	}
}

func (ps *plainSession) waitFor(left time.Duration) {
	now := time.Now()
	ps.wait.Due = now.Add(left)
	ps.line(display.WaitLine(*ps.wait, now, unlimitedWidth))
}

const unlimitedWidth = 1 << 30

// line writes one of our lines on its own row. It may quote names and errors of a server.
func (ps *plainSession) line(text string) {
	ps.finishLine()
	ps.put(ps.paint.encode(printable.Text(text)) + "\n")
}

func (ps *plainSession) write(text string) {
	if text = printable.Text(text); text == "" {
		return
	}
	ps.put(text)
	ps.midline = !strings.HasSuffix(text, "\n")
}

func (ps *plainSession) finishLine() {
	if ps.midline {
		ps.put("\n")
	}
	ps.midline = false
}

func (ps *plainSession) put(text string) {
	if ps.writeErr == nil {
		_, ps.writeErr = io.WriteString(ps.Out, text)
	}
}

func (ps *plainSession) runCommand(ctx context.Context, c slashCommand) (quit bool, err error) {
	switch c.name {
	case "quit", "exit":
		return true, nil
	case "help":
		for _, p := range append(slashCommands(), completion{"/again", "ask the model again for the answer that failed"},
			completion{"/wait", "the same, and wait for a spent usage window"},
			completion{"/now", "in a wait: retry now"}, completion{"/stop", "cancel the turn in progress"}) {
			ps.line(fmt.Sprintf("  %-9s %s", p.text, p.about))
		}
	case "compact", "model", "pause", "title", "unpause":
		err = ps.carryOut(ctx, c)
	case "new":
		ps.closeConversation()
	case "resume":
		err = ps.resume(ctx, c.rest)
	case "usage":
		for _, line := range ps.spending.lines(time.Now()) {
			ps.line(line)
		}
	case "again", "wait", "now", "stop":
		err = ps.control(ctx, c.name)
	default:
		ps.line("× Unknown command /" + c.name + "; /help lists the commands")
	}
	if err != nil {
		ps.line("× " + printable.Line(err.Error()))
	}
	return false, nil
}

// control runs the commands that are shortcuts on a screen.
func (ps *plainSession) control(ctx context.Context, name string) error {
	if ps.conv == nil {
		return errNoConversation
	}
	switch name {
	case "now":
		return ps.conv.Do(ctx, RetryNow{})
	case "stop":
		return ps.conv.Do(ctx, Cancel{})
	}
	if ps.begun.Compact && ps.failed != nil {
		return ps.carryOut(ctx, slashCommand{"compact", ps.begun.Instruction})
	}
	id := conversation.NewID()
	err := ps.conv.Do(ctx, Retry{ID: id, UntilReset: name == "wait"})
	if err == nil {
		ps.openTurns[id] = true
	}
	return err
}

func (ps *plainSession) carryOut(ctx context.Context, c slashCommand) error {
	o := ps.order(c)
	switch {
	case o.err != nil:
		return o.err
	case o.do == nil:
		ps.line(o.say)
		return nil
	}
	if err := ps.conv.Do(ctx, o.do); err != nil {
		return err
	}
	if compact, ok := o.do.(Compact); ok {
		ps.openTurns[compact.ID] = true
	}
	ps.unpausing = ps.unpausing || c.name == "unpause"
	if ps.took(o); o.say != "" {
		ps.line("· " + o.say)
	}
	return nil
}

// closeConversation closes the conversation; the next prompt starts another.
func (ps *plainSession) closeConversation() {
	if ps.conv == nil {
		return
	}
	conv := ps.conv
	ps.leave()
	if err := conv.Close(); err != nil {
		ps.line("× Could not close the conversation: " + err.Error())
	}
	ps.failed, ps.wait, ps.streamed = nil, nil, ""
	clear(ps.openTurns)
}

// resume continues a conversation, given by its id or its number in the list; "" lists the conversations.
func (ps *plainSession) resume(ctx context.Context, which string) error {
	if which == "" {
		return ps.list(ctx)
	}
	id := which
	if e, ok := ps.numbered(which); ok {
		id = e.ID
	}
	conv, err := ps.Conversations.Open(ctx, id)
	if err != nil {
		return err
	}
	ps.listed = nil
	if err := ps.attach(ctx, conv); err != nil {
		return err
	}
	ps.line("· " + titleOf(ps.settings))
	return nil
}

const maxNumbered = 20

// list lists the conversations with numbers. The next line may be a number.
func (ps *plainSession) list(ctx context.Context) error {
	found, err := listEntries(ps.Conversations.List(ctx), ps.id())
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		ps.line("There is no other conversation")
		return nil
	}
	ps.listed = found[:min(len(found), maxNumbered)]
	for i, e := range ps.listed {
		ps.line(fmt.Sprintf("%4d  %s (%s)", i+1, titleOf(e.Settings), printable.Line(strings.Join(aboutEntry(e, time.Now()), ", "))))
	}
	ps.line("Type a number to continue that conversation")
	return nil
}

func (ps *plainSession) numbered(text string) (e Entry, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > len(ps.listed) {
		return e, false
	}
	return ps.listed[n-1], true
}
