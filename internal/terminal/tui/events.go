package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// told takes in a batch of what has happened.
func (m *model) told(msg told) tea.Cmd {
	if msg.of != m.feed || m.leaving {
		return nil // it is of a conversation that was left
	}
	var cmds []tea.Cmd
	for _, e := range msg.events {
		if m.past.take(e) {
			continue
		}
		cmds = append(cmds, m.recall(), m.take(e))
	}
	if m.past.gathers {
		cmds = append(cmds, m.past.listen())
	}
	return tea.Batch(append(cmds, m.feed.later())...)
}

// ended takes in that a conversation is not followed any more.
func (m *model) ended(msg ended) tea.Cmd {
	if msg.of != m.feed || m.leaving || m.ctx.Err() != nil {
		return nil
	}
	m.feed = nil
	if msg.err != nil {
		m.trouble("The conversation cannot be followed: " + msg.err.Error())
		m.talk = nil
	}
	return nil
}

// take takes in an event.
func (m *model) take(e wire.Event) tea.Cmd {
	switch b := e.Body.(type) {
	case wire.InputQueued:
		m.queued(b.TurnID, b.Text)
	case wire.InputRemoved:
		m.unqueue(b.TurnID)
	case wire.ConversationChanged:
		m.session = conversation.Settings{
			Model: b.Model, Fallback: b.Fallback, Patience: b.Patience, System: b.System, Policy: b.Policy, Effort: b.Effort, Title: b.Title,
		}
	case wire.ConnectionLost:
		m.lost, m.lostDue = &b, due(time.Duration(b.DelayMs)*time.Millisecond)
	case wire.ConnectionBack:
		m.lost = nil
		m.emit(m.paint.green("✓ The server is reached again"))
	}
	if t, ok := wire.ToTurn(e.Body); ok {
		if m.lost != nil && !m.past.tells {
			m.lost = nil
		}
		return m.happened(wire.TurnOf(e.Body), t)
	}
	return nil
}

// happened takes in an event of a turn.
func (m *model) happened(id string, e turn.Event) tea.Cmd {
	switch e := e.(type) {
	case turn.Start:
		m.start(e.ID)
	case turn.UserMessage:
		m.said(e)
	case turn.TextDelta:
		m.working(id)
		m.write(m.answer.add(e.Text))
	case turn.ReasoningDelta:
		m.working(id)
	case turn.Restarted:
		m.restarted()
	case turn.AssistantMessage:
		m.answered(e)
	case turn.ToolCall:
		m.calls = append(m.calls, e.ToolCall)
	case turn.ToolResult:
		m.result(e.ToolResult)
	case turn.Compacted:
		m.emit(m.paint.faint(display.Compacted))
	case turn.Sealed:
		return m.sealed(e)
	default:
		return m.providers(id, e)
	}
	return nil
}

// start begins a turn.
func (m *model) start(id string) {
	m.unqueue(id)
	m.endAnswer()
	m.turn = turnState{id: id, began: time.Now()}
	m.wait = nil
	m.fold(false)
}

// working notes that a turn is under way of whose beginning nobody has told.
func (m *model) working(id string) {
	if m.turn.id == "" && id != "" {
		m.turn = turnState{id: id, began: time.Now()}
	}
	m.wait = nil
}

// said prints what the user has said.
func (m *model) said(e turn.UserMessage) {
	m.unqueue(e.ID)
	if m.turn.prompt == "" {
		m.turn.prompt = e.Text
	}
	m.gap()
	lines := wrapped(display.Sanitize(e.Text), m.width-2)
	if len(lines) > saidBound {
		more := len(lines) - saidBound
		lines = append(lines[:saidBound], fmt.Sprintf("… %d more lines", more))
	}
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		m.emit(m.paint.strong(mark + line))
	}
	m.emit("")
}

// saidBound is how many lines of what the user has said are shown.
const saidBound = 30

// write prints blocks of an answer that are finished.
func (m *model) write(blocks []block) {
	for _, b := range blocks {
		lines := m.md.render(b.text, m.width)
		if len(lines) == 0 {
			continue
		}
		if m.turn.blocks++; !b.glued {
			m.gap()
		}
		m.emit(lines...)
	}
}

// endAnswer prints what is left of the answer.
func (m *model) endAnswer() { m.write(m.answer.end()) }

// restarted voids what has streamed since the last whole message: another
// worker has it said anew.
func (m *model) restarted() {
	void := strings.TrimSpace(m.answer.said.String()) != ""
	m.endAnswer()
	m.calls, m.wait = nil, nil
	if void {
		m.emit(m.paint.amber(display.Restarted))
	}
}

// answered takes in a whole answer, or what had come of one.
func (m *model) answered(e turn.AssistantMessage) {
	blocks, missed := m.answer.amend(e.Content.Text())
	if missed {
		m.print1(m.paint.faint, display.Missed)
	}
	m.write(blocks)
	m.endAnswer()
	if e.Partial {
		m.emit(m.paint.faint(display.BrokeOff))
	}
}

// result prints a tool call that has come to its end.
func (m *model) result(r llm.ToolResult) {
	call := llm.ToolCall{ID: r.ID, Name: r.Name}
	if i := slices.IndexFunc(m.calls, func(c llm.ToolCall) bool { return c.ID == r.ID }); i >= 0 {
		call = m.calls[i]
		m.calls = slices.Delete(m.calls, i, i+1)
	}
	m.endAnswer()
	m.emit(m.paint.faint(cutTo(callLine("·", call), m.width)))
	color := m.paint.faint
	lines := outputLines(r.Output)
	if r.Failed {
		color = m.paint.red
	}
	for _, line := range lines {
		m.emit(color(cutTo("  "+line, m.width)))
	}
}

// callLine is the line of a tool call.
func callLine(mark string, c llm.ToolCall) string {
	return mark + " " + display.OneLine(c.Name) + " " + display.OneLine(display.Arguments(c))
}

// outputShown is how many lines of a tool's output are shown.
const outputShown = 3

// outputLines gives the beginning of what a tool has answered.
func outputLines(output string) []string {
	var shown []string
	all := 0
	for line := range strings.Lines(output) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if all++; all <= outputShown {
			shown = append(shown, display.OneLine(line[:min(len(line), 2000)]))
		}
	}
	if all > outputShown {
		shown = append(shown, fmt.Sprintf("… %d more lines", all-outputShown))
	}
	return shown
}

// sealed ends the turn.
func (m *model) sealed(e turn.Sealed) tea.Cmd {
	was := m.turn
	m.endAnswer()
	m.calls, m.wait = nil, nil
	m.turn = turnState{again: e.Status == turn.Failed}
	m.refuse()
	if m.past.tells {
		return nil
	}
	switch e.Status {
	case turn.Aborted:
		m.emit(display.Canceled)
		if !was.stopping.IsZero() {
			m.giveBack(was.prompt, "what you had typed stays; ↑ has what was canceled")
		}
		return nil
	case turn.Failed:
		return m.attract("The turn has failed")
	}
	if time.Since(was.began) > attractTime {
		return m.attract("The answer is there")
	}
	return nil
}
