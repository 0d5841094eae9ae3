package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

func (m *model) onEvents(msg eventsMsg) tea.Cmd {
	if msg.feed != m.feed || m.quitting {
		return nil // of a conversation that was left
	}
	var cmds []tea.Cmd
	for _, e := range msg.events {
		if t, ok := e.Body.(wire.Turn); ok {
			m.spending.on(t.Event, time.Now())
		}
		if m.replay.collect(e) {
			continue
		}
		cmds = append(cmds, m.printReplay(), m.onEvent(e))
	}
	if m.replay.gathering {
		cmds = append(cmds, m.replay.waitQuiet())
	}
	return tea.Batch(append(cmds, m.feed.nextFrame())...)
}

func (m *model) onFeedEnd(msg feedEndedMsg) tea.Cmd {
	if msg.feed != m.feed || m.quitting || m.ctx.Err() != nil {
		return nil
	}
	m.feed = nil
	if msg.feed.err != nil {
		m.printError("Lost the conversation: " + msg.feed.err.Error())
		m.conv = nil
	}
	return nil
}

func (m *model) onEvent(e wire.Event) tea.Cmd {
	switch b := e.Body.(type) {
	case wire.InputQueued:
		if b.Compact {
			m.enqueue(b.TurnID, compactCommand(b.Text))
		} else {
			m.onQueued(b.TurnID, b.Text)
		}
	case wire.InputRemoved:
		m.dequeue(b.TurnID)
	case wire.ConversationChanged:
		m.onSettings(b.Settings)
	case wire.ConversationPaused:
		m.paused, m.wait = true, nil // the status says so
	case wire.ConversationResumed:
		if m.paused && !m.replay.printing {
			m.emit(m.paint.faint(display.Unpaused))
		}
		m.paused, m.wait = false, nil
	case wire.ConnectionLost:
		m.lost, m.lostDue = &b, dueAfter(time.Duration(b.Delay))
	case wire.ConnectionBack:
		m.lost = nil
	}
	if color, line := lineOf(e.Body); line != "" {
		m.printWrapped(color, line)
	}
	if t, ok := e.Body.(wire.Turn); ok {
		if m.lost != nil && !m.replay.printing {
			m.lost = nil
		}
		return m.onTurnEvent(t.TurnID, t.Event)
	}
	return nil
}

func (m *model) onTurnEvent(id string, e turn.Event) tea.Cmd {
	switch e := e.(type) {
	case turn.Start:
		m.onTurnStart(e)
	case turn.UserMessage:
		m.onUserMessage(e)
	case turn.TextDelta:
		m.onProgress(id)
		m.printBlocks(m.answer.add(e.Text))
	case turn.ReasoningDelta:
		m.onProgress(id)
	case turn.Restarted:
		m.onRestart()
	case turn.AssistantMessage:
		m.onAnswer(e)
	case turn.ApprovalRequested, turn.ApprovalAnswered:
		return m.onApproval(e)
	case turn.ToolCall:
		m.calls = append(m.calls, e.ToolCall)
	case turn.ToolResult:
		m.onToolResult(e.ToolResult)
	case turn.Sealed:
		return m.onSealed(e)
	default:
		return m.onProviderEvent(id, e)
	}
	return nil
}

func (m *model) onTurnStart(e turn.Start) {
	id := e.ID
	m.dequeue(id)
	m.finishAnswer()
	again, failing := m.turn.returned, m.turn.failing && m.turn.id == ""
	m.turn = turnState{id: id, started: time.Now(), failing: failing}
	m.wait = nil
	m.foldFailure(true)
	if again.id == id && id != "" {
		m.onUserMessage(turn.UserMessage{Text: again.text}) // this turn has no message: it is in the conversation already
	}
	if e.Compact {
		m.turn.compacts = &e
		m.onUserMessage(turn.UserMessage{Text: compactCommand(e.Instruction)})
	}
}

// onProgress handles a turn's first sign of life, which may arrive before its start, and ends a wait.
func (m *model) onProgress(id string) {
	m.begin(id)
	m.wait, m.turn.failing = nil, false
}

// begin records a turn whose start is not known.
func (m *model) begin(id string) {
	if m.turn.id == "" && id != "" {
		m.turn = turnState{id: id, started: time.Now()}
	}
}

func (m *model) onUserMessage(e turn.UserMessage) {
	m.dequeue(e.ID)
	typed, files := typedOf(e.Text)
	for _, i := range e.Images {
		files = append(files, printable.Line(i.String()))
	}
	if m.turn.prompt == "" {
		m.turn.prompt = typed
	}
	m.ensureGap()
	lines := wrap(printable.Text(typed), m.width-2)
	if len(lines) > maxPromptLines {
		more := len(lines) - maxPromptLines
		lines = append(lines[:maxPromptLines], "… "+text.Count(more, "more line", "more lines"))
	}
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		m.emit(m.paint.strong(mark + line))
	}
	for _, file := range files {
		m.emit(m.paint.faint(truncate("  ["+file+"]", m.width)))
	}
	m.emit("")
}

const maxPromptLines = 30

func (m *model) printBlocks(blocks []block) {
	for _, b := range blocks {
		lines := m.md.render(b.text, m.width)
		if len(lines) == 0 {
			continue
		}
		if m.turn.blocks++; !b.continues {
			m.ensureGap()
		}
		m.emit(lines...)
	}
}

func (m *model) finishAnswer() { m.printBlocks(m.answer.finish()) }

// onRestart drops the text since the last whole message: another worker generates it again.
func (m *model) onRestart() {
	partial := strings.TrimSpace(m.answer.received.String()) != ""
	m.finishAnswer()
	m.calls, m.wait = nil, nil
	if partial {
		m.printWrapped(amber, display.Restarted)
	}
}

// onAnswer handles a whole answer, or the part of one that broke off.
func (m *model) onAnswer(e turn.AssistantMessage) {
	blocks, missed := m.answer.reconcile(e.Content.Text())
	if missed {
		m.printWrapped(grey, display.Missed)
	}
	m.printBlocks(blocks)
	m.finishAnswer()
	if why := display.Unfinished(e); why != "" {
		m.emit(m.paint.faint(why))
	}
}

func (m *model) onToolResult(r llm.ToolResult) {
	call := llm.ToolCall{ID: r.ID, Name: r.Name}
	if i := slices.IndexFunc(m.calls, func(c llm.ToolCall) bool { return c.ID == r.ID }); i >= 0 {
		call = m.calls[i]
		m.calls = slices.Delete(m.calls, i, i+1)
	}
	m.finishAnswer()
	m.emit(m.paint.faint(truncate(toolCallLine("·", call), m.width)))
	color := grey
	if r.Failed {
		color = red
	}
	for _, line := range outputLines(r.Output) {
		m.emit(m.paint.in(color, truncate("  "+line, m.width)))
	}
}

func toolCallLine(mark string, c llm.ToolCall) string {
	return mark + " " + printable.Line(c.Name) + " " + printable.Line(display.Arguments(c))
}

const maxOutputLines = 3

func outputLines(output string) []string {
	var shown []string
	all := 0
	for line := range strings.Lines(output) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if all++; all <= maxOutputLines {
			shown = append(shown, printable.Line(line[:min(len(line), 2000)]))
		}
	}
	if all > maxOutputLines {
		shown = append(shown, "… "+text.Count(all-maxOutputLines, "more line", "more lines"))
	}
	return shown
}

func (m *model) onSealed(e turn.Sealed) tea.Cmd {
	was := m.turn
	m.finishAnswer()
	m.calls, m.wait = nil, nil
	m.turn = turnState{retryable: e.Status == turn.Failed && !was.hopeless, ofWindow: was.ofWindow, compacts: was.compacts}
	m.question.on(e)
	if m.replay.printing {
		return nil
	}
	switch e.Status {
	case turn.Aborted:
		m.emit(display.Canceled)
		if !was.cancelingSince.IsZero() {
			m.restoreDraft(was.prompt, "your draft stays; ↑ recalls the canceled prompt")
			if was.blocks == 0 {
				m.turn.returned.text = was.prompt
			}
		}
		return nil
	case turn.Failed:
		return m.notifyUser("The turn failed")
	}
	if time.Since(was.started) > longTurn {
		return m.notifyUser("The answer is ready")
	}
	return nil
}
