package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
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

// onApproval asks the user whether a tool may run.
func (m *model) onApproval(a Approval) tea.Cmd {
	if m.alwaysAllowed[a.Call.Name] {
		a.Answer(true)
		return nil
	}
	if m.questions = append(m.questions, a); len(m.questions) == 1 {
		m.askedAt = time.Now()
	}
	return m.notifyUser("A tool call needs approval")
}

// answerQuestion answers the question that is shown.
func (m *model) answerQuestion(k string) (cmd tea.Cmd, taken bool) {
	if k != "y" && k != "n" && k != "a" {
		return nil, false
	}
	if time.Since(m.askedAt) < answerDelay {
		return nil, true
	}
	a := m.questions[0]
	m.questions, m.askedAt = m.questions[1:], time.Now()
	a.Answer(k != "n")
	verdict := map[string]string{"y": "allowed", "n": "refused", "a": "allowed from now on"}[k]
	m.emit(m.paint.faint(truncate("· "+verdict+": "+display.OneLine(a.Call.Name), m.width)))
	if k == "a" {
		m.alwaysAllowed[a.Call.Name] = true
		m.answerAllowed()
	}
	return nil, true
}

// answerAllowed answers the questions about tools that are always allowed.
func (m *model) answerAllowed() {
	var open []Approval
	for _, a := range m.questions {
		if m.alwaysAllowed[a.Call.Name] {
			a.Answer(true)
		} else {
			open = append(open, a)
		}
	}
	m.questions = open
}

// refuseAll answers every question with no.
func (m *model) refuseAll() {
	for _, a := range m.questions {
		a.Answer(false)
	}
	m.questions = nil
}

// questionLines are the lines about the tool call that needs approval.
func (m *model) questionLines() []string {
	if len(m.questions) == 0 {
		return nil
	}
	call := m.questions[0].Call
	lines := wrap("? May "+display.OneLine(call.Name)+" run with "+display.Truncate(display.Arguments(call), 2000)+"?", m.width)
	if most := max(2, m.height/3); len(lines) > most {
		lines = append(lines[:most], "… (the arguments are longer than the screen has room for)")
	}
	for i := range lines {
		lines[i] = m.paint.strong(lines[i])
	}
	return append(lines, truncate("  y yes · n no · a always for this tool in this conversation", m.width))
}
