package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// graceTime is how long a question stands before a key answers it: whoever was
// just typing does not mean it.
const graceTime = 500 * time.Millisecond

// nextApproval waits for a tool call that somebody has to allow.
func (m *model) nextApproval() tea.Cmd {
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

// ask asks whether a tool may change things.
func (m *model) ask(a Approval) tea.Cmd {
	if m.always[a.Call.Name] {
		a.Answer(true)
		return nil
	}
	if m.asking = append(m.asking, a); len(m.asking) == 1 {
		m.asked = time.Now()
	}
	return m.attract("A tool call is to be allowed")
}

// answerKey answers the question that is shown.
func (m *model) answerKey(k string) (cmd tea.Cmd, taken bool) {
	if k != "y" && k != "n" && k != "a" {
		return nil, false
	}
	if time.Since(m.asked) < graceTime {
		return nil, true
	}
	a := m.asking[0]
	m.asking, m.asked = m.asking[1:], time.Now()
	a.Answer(k != "n")
	verdict := map[string]string{"y": "allowed", "n": "refused", "a": "allowed from now on"}[k]
	m.emit(m.paint.faint(cutTo("· "+verdict+": "+display.OneLine(a.Call.Name), m.width)))
	if k == "a" {
		m.always[a.Call.Name] = true
		m.allowKnown()
	}
	return nil, true
}

// allowKnown allows what waits and is allowed from now on.
func (m *model) allowKnown() {
	var rest []Approval
	for _, a := range m.asking {
		if m.always[a.Call.Name] {
			a.Answer(true)
		} else {
			rest = append(rest, a)
		}
	}
	m.asking = rest
}

// refuse answers every question with no.
func (m *model) refuse() {
	for _, a := range m.asking {
		a.Answer(false)
	}
	m.asking = nil
}

// question is what is shown of a call that is to be allowed.
func (m *model) question() []string {
	if len(m.asking) == 0 {
		return nil
	}
	call := m.asking[0].Call
	lines := wrapped("? May "+display.OneLine(call.Name)+" run with "+display.Truncate(display.Arguments(call), 2000)+"?", m.width)
	if most := max(2, m.height/3); len(lines) > most {
		lines = append(lines[:most], "… (the arguments are longer than the screen has room for)")
	}
	for i := range lines {
		lines[i] = m.paint.strong(lines[i])
	}
	return append(lines, cutTo("  y yes · n no · a always for this tool in this conversation", m.width))
}
