package tui

import (
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// slashCommand is a command to this program, not to the model.
type slashCommand struct{ name, rest string }

// parseCommand parses a slash command; false for paths and other prompts that begin with a slash.
func parseCommand(text string) (slashCommand, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	end := strings.IndexFunc(text, func(r rune) bool { return !isLetter(r) })
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	if !ok || name == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' || strings.Contains(rest, "\n") {
		return slashCommand{}, false
	}
	return slashCommand{name, strings.TrimSpace(rest)}, true
}

// slashCommands are the commands, with descriptions.
func slashCommands() []completion {
	return []completion{
		{"/compact", "[WHAT MATTERS]: replace the oldest messages by a summary"},
		{"/help", "keys and commands"},
		{"/model", "NAME: switch to another model, in a wait also this turn"},
		{"/new", "start a new conversation"},
		{"/pause", "ask no model here until /unpause; what you say waits"},
		{"/quit", "quit; the conversation is kept"},
		{"/resume", "choose a conversation to continue"},
		{"/title", "WORDS: give this conversation a title"},
		{"/unpause", "end the pause of this conversation"},
		{"/usage", "tokens, waits and retries of this turn and this conversation"},
	}
}

// runCommand runs a slash command. One that cannot run stays in the composer.
func (m *model) runCommand(c slashCommand) tea.Cmd {
	if (c.name == "new" || c.name == "resume") && (len(m.outbox) > 0 || m.opening) {
		m.showHint("Your prompt is still being sent to this conversation")
		return nil
	}
	switch c.name {
	case "compact":
		m.clearComposer()
		return m.compact(c.rest)
	case "help":
		m.clearComposer()
		m.printHelp()
	case "model":
		return m.setModel(c.rest)
	case "new":
		m.clearComposer()
		cmd := m.leaveConversation()
		m.emit("", m.paint.faint("· a new conversation"))
		return cmd
	case "pause", "unpause":
		return m.setPaused(c.name)
	case "quit", "exit":
		m.clearComposer()
		return m.quit()
	case "resume":
		return m.resume(c.rest)
	case "title":
		return m.setTitle(c.rest)
	case "usage":
		m.printUsage()
	default:
		m.showHint("Unknown command /" + c.name + "; /help lists the commands")
	}
	return nil
}

// printHelp prints the keys and commands.
func (m *model) printHelp() {
	m.emit("")
	for _, p := range slashCommands() {
		m.printKey(p)
	}
	for _, p := range []completion{
		{"Enter", "send; queued while the model is busy"},
		{`\ Enter`, "another line (also Shift+Enter, Alt+Enter, Ctrl+J)"},
		{"@PATH", "attach a text file or an image; in quotes if it has blanks"},
		{"Tab", "complete; with an empty composer: send the queued prompt to the turn now"},
		{"↑ ↓", "take back a queued prompt; recall earlier prompts"},
		{"r", "while waiting: retry now, which uses no attempt; after a failure: try again"},
		{"m", "while waiting: another model for this turn and those after it"},
		{"w", "after a usage limit: wait until it opens again"},
		{"d", "details of the failure: status, request id, tries"},
		{"Ctrl+C", "cancel (Esc twice as well); twice when idle: quit"},
		{"Ctrl+D", "quit"},
	} {
		m.printKey(p)
	}
	m.emit("")
}

// printKey prints a key or a command with what it does.
func (m *model) printKey(p completion) {
	before := "  " + padRight(p.text, 9) + " "
	for _, line := range wrapTo(m.paint.encode(p.about), m.width-1-lipgloss.Width(before)) {
		m.emit(m.paint.faint(before + line))
		before = strings.Repeat(" ", lipgloss.Width(before))
	}
}

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-len([]rune(s))))
}

// setModel switches the model from the next turn on.
func (m *model) setModel(name string) tea.Cmd {
	if name == "" {
		m.clearComposer()
		m.showHint("The model is " + printable.Line(m.settings.Model) + "; /model NAME switches")
		return nil
	}
	m.clearComposer()
	s := m.settings
	s.Model = name
	if m.conv == nil {
		m.settings = s
		m.showHint("The model is " + name)
		return nil
	}
	change := func(err error) {
		if err != nil {
			m.printError("Could not switch the model: " + err.Error())
			return
		}
		m.settings = s
	}
	if m.wait != nil && m.lost == nil {
		return m.moveTurn(s, change)
	}
	return m.do(Change{s}, func(m *model, err error) {
		if change(err); err == nil {
			m.announceModel()
		}
	})
}

// moveTurn lets the turn that waits ask another model, and those after it.
func (m *model) moveTurn(s conversation.Settings, change func(error)) tea.Cmd {
	ctx, conv := m.ctx, m.conv
	return async(func() outcome {
		err := conv.Do(ctx, Change{s})
		var moved error
		if err == nil {
			moved = conv.Do(ctx, Move{s.Model})
		}
		return func(m *model) tea.Cmd {
			switch change(err); {
			case err != nil || moved == nil: // the turn tells of the switch
			case errors.Is(moved, conversation.ErrNotWaiting) || errors.Is(moved, conversation.ErrIdle):
				m.announceModel() // it has come too late for this turn
			default:
				m.printError("Could not move the turn: " + moved.Error())
			}
			return nil
		}
	})
}

// announceModel prints which model answers the turns to come.
func (m *model) announceModel() {
	text := "· " + printable.Line(m.settings.Model) + " answers from the next turn on"
	if m.turn.retryable && m.turn.id == "" {
		text += "; r asks it what failed"
	}
	m.printWrapped(m.paint.faint, text)
}

// resume continues another conversation, which the user may choose from a list.
func (m *model) resume(id string) tea.Cmd {
	if id == "" {
		return m.pick()
	}
	m.clearComposer()
	if m.conv != nil && m.conv.ID() == id {
		m.showHint("That is this conversation")
		return nil
	}
	return m.openConversation(id)
}

// completion is a text that could follow the one being typed.
type completion struct{ text, about string }

// completions are those of the text being typed. Tab cycles through them.
type completions struct {
	typed    string
	all      []completion
	selected int // -1: none
}

// complete finds the completions of the text being typed.
func (m *model) complete() tea.Cmd {
	typed := m.composer.Value()
	if typed == m.completions.typed {
		return nil
	}
	m.completions = completions{typed: typed, selected: -1}
	if m.completions.all = completeFile(typed, m.dirOf()); m.completions.all != nil {
		return nil
	}
	if !strings.HasPrefix(typed, "/") || strings.Contains(typed, "\n") {
		return nil
	}
	var all []completion
	switch {
	case strings.HasPrefix(typed, "/model "):
		for _, name := range m.Models() {
			all = append(all, completion{"/model " + name, ""})
		}
	default:
		all = slashCommands()
	}
	m.completions.all = slices.DeleteFunc(all, func(p completion) bool { return !strings.HasPrefix(p.text, typed) || p.text == typed })
	return nil
}

// onTab completes the text being typed. With an empty composer it passes the queued prompt to the
// turn in progress.
func (m *model) onTab() tea.Cmd {
	switch {
	case len(m.completions.all) > 0:
		m.completions.selected = (m.completions.selected + 1) % len(m.completions.all)
		value := m.completions.all[m.completions.selected].text
		if len(m.completions.all) == 1 && !strings.Contains(value, " ") && !strings.HasSuffix(value, "/") {
			value += " "
		}
		m.composer.SetValue(value)
		if len(m.completions.all) == 1 {
			m.completions = completions{}
			return m.complete()
		}
		m.completions.typed = value // Tab then takes the next one
	case !m.hasDraft() && len(m.queue) > 0 && m.turn.id != "":
		return m.steer()
	}
	return nil
}
