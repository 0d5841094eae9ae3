package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/turn"
)

// answerDelay is how long a question must be visible before a key answers it: a key pressed earlier was meant for
// the composer.
const answerDelay = 500 * time.Millisecond

// question is the tool call that needs approval, if there is one.
type question struct {
	asked *turn.ApprovalRequested // nil: none
}

func (q *question) open() bool { return q.asked != nil }

// on handles an event that asks or answers a question. It returns the tool and the meaning of an answer; "": e is
// no answer.
func (q *question) on(e turn.Event) (tool, verdict string) {
	switch e := e.(type) {
	case turn.ApprovalRequested:
		q.asked = &e
	case turn.ApprovalAnswered:
		if q.asked != nil && q.asked.ID == e.ID {
			tool, verdict = printable.Line(q.asked.Name), verdictOf(e.Decision)
			q.asked = nil
		}
	case turn.Sealed:
		q.asked = nil
	}
	return tool, verdict
}

func verdictOf(d turn.Decision) string {
	switch d {
	case turn.AllowOnce:
		return "allowed"
	case turn.AllowAlways:
		return "allowed from now on"
	case turn.Expired:
		return "refused, for want of an answer in time"
	}
	return "refused"
}

// decisions are those of the keys y, n and a.
var decisions = map[byte]turn.Decision{'y': turn.AllowOnce, 'n': turn.Deny, 'a': turn.AllowAlways}

func (q *question) text() string {
	return "? May " + printable.Line(q.asked.Name) + " run with " + printable.Truncate(display.Arguments(q.asked.ToolCall), 2000) + "?"
}

func (m *model) onApproval(e turn.Event) tea.Cmd {
	if tool, verdict := m.question.on(e); verdict != "" {
		m.emit(m.paint.faint(truncate("· "+verdict+": "+tool, m.width)))
		return nil
	}
	m.askedAt = time.Now()
	return m.notifyUser("A tool call needs approval")
}

func (m *model) answerQuestion(k string) (cmd tea.Cmd, taken bool) {
	d := turn.Decision("")
	if len(k) == 1 {
		d = decisions[k[0]]
	}
	if d == "" || !m.question.open() {
		return nil, false
	}
	if time.Since(m.askedAt) < answerDelay {
		return nil, true
	}
	m.askedAt = time.Now()
	return m.do(Answer{m.question.asked.ID, d}, printUnless(conversation.ErrNotAsked, "Could not answer")), true
}

func (m *model) questionLines() []string {
	if !m.question.open() {
		return nil
	}
	lines := wrap(m.question.text(), m.width)
	if most := max(2, m.height/3); len(lines) > most {
		lines = append(lines[:most], "… (the arguments are longer than the screen has room for)")
	}
	for i := range lines {
		lines[i] = m.paint.strong(truncate(lines[i], m.width))
	}
	return append(lines, truncate("  y yes · n no · a always for this tool in this conversation", m.width))
}

func (ps *plainSession) onApproval(e turn.Event) {
	if tool, verdict := ps.question.on(e); verdict != "" {
		if ps.refused {
			verdict += ", because the input has ended"
		}
		ps.line("· " + verdict + ": " + tool)
		return
	}
	ps.printQuestion()
}

func (ps *plainSession) printQuestion() {
	ps.line(ps.question.text() + " (y, n, or a for always in this conversation)")
}

func (ps *plainSession) answerQuestion(ctx context.Context, word string) error {
	if word == "" || !strings.Contains("y yes n no a always", word) {
		ps.printQuestion()
		return nil
	}
	return ps.answer(ctx, decisions[word[0]])
}

// asks reports whether there is a question whose answer is not on its way.
func (ps *plainSession) asks() bool { return ps.question.open() && ps.answered != ps.question.asked }

// answer answers the question. The event of the answer closes it.
func (ps *plainSession) answer(ctx context.Context, d turn.Decision) error {
	asked := ps.question.asked
	ps.answered = asked
	err := ps.conv.Do(ctx, Answer{asked.ID, d})
	if errors.Is(err, conversation.ErrNotAsked) || ctx.Err() != nil {
		return nil
	}
	return err
}
