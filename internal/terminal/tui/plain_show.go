package tui

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/turn"
)

// providers shows what happens to providers.
func (a *appended) providers(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		w := display.Of(e)
		a.wait = &w
		a.line(w.Line(e.Delay, time.Now(), endless))
	case turn.Waiting:
		if a.wait != nil {
			a.line(a.wait.Line(e.Remaining, time.Now(), endless))
		}
	case turn.Recovered:
		a.wait = nil
		a.line(display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		a.wait = nil
		a.line(display.Switched(e))
	case turn.Error:
		a.wait = nil
		a.failed = &Failure{e}
		a.line(display.Headline(e))
		for _, line := range display.Details(e) {
			a.line("  " + line)
		}
		a.line("  Nothing is lost: the conversation is kept. /again tries again.")
	}
}

// endless is the width of what has none.
const endless = 1 << 30

// line writes a line of ours; it does not stand behind half a line of another.
func (a *appended) line(text string) {
	a.finishLine()
	a.put(a.paint.letters(text) + "\n")
}

// write writes some of the answer.
func (a *appended) write(text string) {
	if text = display.Sanitize(text); text == "" {
		return
	}
	a.put(text)
	a.midline = !strings.HasSuffix(text, "\n")
}

func (a *appended) finishLine() {
	if a.midline {
		a.put("\n")
	}
	a.midline = false
}

func (a *appended) put(text string) {
	if a.err == nil {
		_, a.err = io.WriteString(a.Out, text)
	}
}

// ask asks whether a tool may change things. Where nothing more can be typed
// the answer is no.
func (a *appended) ask(one Approval, nobody bool) {
	switch {
	case a.always[one.Call.Name]:
		one.Answer(true)
	case nobody:
		a.line("· refused, for nobody is there to allow it: " + display.OneLine(one.Call.Name))
		one.Answer(false)
	default:
		if a.asking = append(a.asking, one); len(a.asking) == 1 {
			a.question()
		}
	}
}

// nobody takes in that the input has ended: what was asked will not be answered.
func (a *appended) nobody() {
	asking := a.asking
	a.asking = nil
	for _, one := range asking {
		a.ask(one, true)
	}
}

func (a *appended) question() {
	call := a.asking[0].Call
	a.line("? May " + display.OneLine(call.Name) + " run with " + display.Truncate(display.Arguments(call), 2000) + "? (y, n, or a for always in this conversation)")
}

// answer answers the question that was asked.
func (a *appended) answer(word string) {
	if word == "" || !strings.Contains("y yes n no a always", word) {
		a.question()
		return
	}
	one := a.asking[0]
	a.asking = a.asking[1:]
	if word[0] == 'a' {
		a.always[one.Call.Name] = true
	}
	one.Answer(word[0] != 'n')
	for len(a.asking) > 0 && a.always[a.asking[0].Call.Name] {
		a.asking[0].Answer(true)
		a.asking = a.asking[1:]
	}
	if len(a.asking) > 0 {
		a.question()
	}
}

// command does what was asked for.
func (a *appended) command(ctx context.Context, c command) (quit bool, err error) {
	switch c.name {
	case "quit", "exit":
		return true, nil
	case "help":
		for _, p := range append(slashes(), pick{"/again", "have the model asked again what it could not answer"},
			pick{"/now", "end a wait: try at once"}, pick{"/stop", "cancel the turn under way"}) {
			a.line(fmt.Sprintf("  %-9s %s", p.value, p.about))
		}
	case "model":
		err = a.setModel(ctx, c.rest)
	case "new":
		a.leaveTalk()
	case "resume":
		err = a.resume(ctx, c.rest)
	case "again", "now", "stop":
		err = a.control(ctx, c.name)
	default:
		a.line("× There is no command /" + c.name + "; /help tells which there are")
	}
	if err != nil {
		a.line("× " + display.OneLine(err.Error()))
	}
	return false, nil
}

// control does what keys do on a screen.
func (a *appended) control(ctx context.Context, name string) error {
	if a.talk == nil {
		return fmt.Errorf("nothing has been said yet")
	}
	switch name {
	case "now":
		return a.talk.Now(ctx)
	case "stop":
		return a.talk.Stop(ctx, "")
	}
	id, err := a.talk.Again(ctx)
	if err == nil {
		a.expect(id)
	}
	return err
}

func (a *appended) setModel(ctx context.Context, name string) error {
	if name == "" {
		a.line("The model is " + display.OneLine(a.session.Model))
		return nil
	}
	s := a.session
	s.Model = name
	if a.talk != nil {
		if err := a.talk.Change(ctx, s); err != nil {
			return err
		}
	}
	a.session = s
	a.line("· " + display.OneLine(name) + " answers from now on")
	return nil
}

// leaveTalk closes the conversation; the next thing that is said begins
// another.
func (a *appended) leaveTalk() {
	if a.talk == nil {
		return
	}
	a.feed.cancel()
	if err := a.talk.Close(); err != nil {
		a.line("× The conversation could not be closed: " + err.Error())
	}
	a.talk, a.feed, a.open, a.failed = nil, nil, 0, nil
	a.asked = map[string]bool{}
}

func (a *appended) resume(ctx context.Context, id string) error {
	if id != "" {
		talk, err := a.Conversations.Open(ctx, id)
		if err != nil {
			return err
		}
		return a.enter(ctx, talk)
	}
	n := 0
	for e, err := range a.Conversations.List(ctx) {
		if err != nil {
			return err
		}
		a.line("  " + e.ID + "  " + aboutEntry(e, time.Now()))
		if n++; n == resumable {
			break
		}
	}
	return nil
}
