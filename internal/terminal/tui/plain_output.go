package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/turn"
)

// onProviderEvent shows an event of a provider call.
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
	case turn.Recovered:
		ps.wait = nil
		ps.line(display.Recovered(e.Retries, e.Waited))
	case turn.MCPRetry:
		ps.line(display.MCPRetry(e))
	case turn.MCPRecovered:
		ps.line(display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		ps.wait = nil
		ps.line(display.Switched(e))
	case turn.Error:
		ps.wait = nil
		ps.failed = &Failure{e}
		ps.line(display.Headline(e, time.Now()))
		for _, line := range display.Details(e) {
			ps.line("  " + line)
		}
		if asks := display.LongerWait(e, ""); asks != "" && !display.OfWindow(e) {
			ps.line("  " + asks)
		}
		ps.line("  " + kept(e, "/wait", "/model", "/again"))
	}
}

// waitFor shows that the wait takes so much longer.
func (ps *plainSession) waitFor(left time.Duration) {
	now := time.Now()
	ps.wait.Due = now.Add(left)
	ps.line(display.WaitLine(*ps.wait, now, unlimitedWidth))
}

// unlimitedWidth is the width of an output without columns.
const unlimitedWidth = 1 << 30

// line writes a line of ours, on a row of its own. It may quote names and errors of a server.
func (ps *plainSession) line(text string) {
	ps.finishLine()
	ps.put(ps.paint.encode(printable.Text(text)) + "\n")
}

// write writes part of an answer.
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

// runCommand runs a slash command.
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
	case "model":
		err = ps.setModel(ctx, c.rest)
	case "new":
		ps.closeConversation()
	case "resume":
		err = ps.resume(ctx, c.rest)
	case "title":
		err = ps.setTitle(ctx, c.rest)
	case "compact":
		err = ps.compact(ctx, c.rest)
	case "usage":
		for _, line := range ps.spending.lines(time.Now()) {
			ps.line(line)
		}
	case "pause", "unpause":
		err = ps.setPaused(ctx, c.name)
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

var errNoConversation = errors.New("there is no conversation yet")

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
		return ps.compact(ctx, ps.begun.Instruction)
	}
	id := conversation.NewID()
	err := ps.conv.Do(ctx, Retry{ID: id, UntilReset: name == "wait"})
	if err == nil {
		ps.openTurns[id] = true
	}
	return err
}

func (ps *plainSession) setModel(ctx context.Context, name string) error {
	if name == "" {
		ps.line("The model is " + printable.Line(ps.settings.Model))
		return nil
	}
	s := ps.settings
	s.Model = name
	if ps.conv != nil {
		if err := ps.conv.Do(ctx, Change{s}); err != nil {
			return err
		}
	}
	ps.settings = s
	ps.line("· " + printable.Line(name) + " answers from the next turn on")
	return nil
}

// closeConversation closes the conversation; the next prompt starts another.
func (ps *plainSession) closeConversation() {
	if ps.conv == nil {
		return
	}
	if ps.feed != nil {
		ps.feed.cancel()
	}
	if err := ps.conv.Close(); err != nil {
		ps.line("× Could not close the conversation: " + err.Error())
	}
	ps.conv, ps.feed, ps.failed, ps.wait, ps.streamed, ps.question, ps.spending, ps.paused = nil, nil, nil, nil, "", question{}, spending{}, false
	clear(ps.openTurns)
}
