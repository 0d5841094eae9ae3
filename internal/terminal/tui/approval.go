package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// answerDelay is how long a question stands before a key answers it: a key pressed earlier was meant
// for the composer.
const answerDelay = 500 * time.Millisecond

// waitForApproval waits for the next tool call that needs approval.
func (m *model) waitForApproval() tea.Cmd {
	if m.Approvals == nil {
		return nil
	}
	ctx, approvals := m.ctx, m.Approvals
	return func() tea.Msg {
		select {
		case a, ok := <-approvals:
			if ok {
				return a
			}
		case <-ctx.Done():
		}
		return nil
	}
}

// questions are the open questions about tool calls, and the tools that are always allowed.
type questions struct {
	open   []Approval
	always map[string]bool
}

// add opens a question, unless the tool is always allowed.
func (q *questions) add(a Approval) {
	if q.always[a.Call.Name] {
		a.Answer(true)
		return
	}
	q.open = append(q.open, a)
}

// answer answers the first question by y, n or a, which allows the tool always, and returns its tool.
func (q *questions) answer(key byte) (tool string) {
	first := q.open[0]
	q.open = q.open[1:]
	first.Answer(key != 'n')
	if key == 'a' {
		if q.always == nil {
			q.always = map[string]bool{}
		}
		q.always[first.Call.Name] = true
		open := q.open
		q.open = nil
		for _, a := range open {
			q.add(a)
		}
	}
	return first.Call.Name
}

// refuse answers every question with no.
func (q *questions) refuse() {
	for len(q.open) > 0 {
		q.answer('n')
	}
}

// text is the first question.
func (q *questions) text() string {
	call := q.open[0].Call
	return "? May " + printable.Line(call.Name) + " run with " + printable.Truncate(display.Arguments(call), 2000) + "?"
}

// onApproval asks the user whether a tool may run.
func (m *model) onApproval(a Approval) tea.Cmd {
	before := len(m.questions.open)
	m.questions.add(a)
	switch len(m.questions.open) {
	case before:
		return nil
	case 1:
		m.askedAt = time.Now()
	}
	return m.notifyUser("A tool call needs approval")
}

// answerQuestion answers the question that is shown.
func (m *model) answerQuestion(k string) (taken bool) {
	verdict := map[string]string{"y": "allowed", "n": "refused", "a": "allowed from now on"}[k]
	if verdict == "" {
		return false
	}
	if time.Since(m.askedAt) >= answerDelay {
		m.askedAt = time.Now()
		tool := m.questions.answer(k[0])
		m.emit(m.paint.faint(truncate("· "+verdict+": "+printable.Line(tool), m.width)))
	}
	return true
}

// questionLines are the lines about the tool call that needs approval.
func (m *model) questionLines() []string {
	if len(m.questions.open) == 0 {
		return nil
	}
	lines := wrap(m.questions.text(), m.width)
	if most := max(2, m.height/3); len(lines) > most {
		lines = append(lines[:most], "… (the arguments are longer than the screen has room for)")
	}
	for i := range lines {
		lines[i] = m.paint.strong(lines[i])
	}
	return append(lines, truncate("  y yes · n no · a always for this tool in this conversation", m.width))
}
