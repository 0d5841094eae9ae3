package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/text"
)

type slashCommand struct{ name, rest string }

// parseCommand parses a slash command; false for paths and other prompts that begin with a slash.
func parseCommand(text string) (slashCommand, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	end := strings.IndexFunc(text, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	if !ok || name == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' || strings.Contains(rest, "\n") {
		return slashCommand{}, false
	}
	return slashCommand{name, strings.TrimSpace(rest)}, true
}

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

// runCommand runs a slash command. A command that cannot run stays in the composer.
func (m *model) runCommand(c slashCommand) tea.Cmd {
	if (c.name == "new" || c.name == "resume") && (len(m.outbox) > 0 || m.opening) {
		m.showHint("Your prompt is still being sent to this conversation")
		return nil
	}
	switch c.name {
	case "compact", "model", "pause", "title", "unpause":
		m.clearComposer()
		return m.carryOut(c)
	case "help":
		m.clearComposer()
		m.printHelp()
	case "new":
		m.clearComposer()
		cmd := m.leaveConversation()
		m.emit("", m.paint.faint("· a new conversation"))
		return cmd
	case "quit", "exit":
		m.clearComposer()
		return m.quit()
	case "resume":
		return m.resume(c.rest)
	case "usage":
		m.printUsage()
	default:
		m.showHint("Unknown command /" + c.name + "; /help lists the commands")
	}
	return nil
}

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

func (m *model) printKey(p completion) {
	before := fmt.Sprintf("  %-9s ", p.text)
	for _, line := range wrapTo(m.paint.encode(p.about), m.width-1-lipgloss.Width(before)) {
		m.emit(m.paint.faint(before + line))
		before = strings.Repeat(" ", lipgloss.Width(before))
	}
}

func (m *model) carryOut(c slashCommand) tea.Cmd {
	o := m.order(c)
	switch {
	case o.err != nil:
		m.showHint(text.Capital(o.err.Error()))
		return nil
	case o.do == nil:
		m.showHint(o.say)
		return nil
	case c.name == "model" && m.wait != nil && m.lost == nil:
		return m.moveTurn(o, c.rest)
	case c.name == "model" && m.turn.retryable && m.turn.id == "":
		o.say += "; r asks it what failed"
	}
	return m.do(o.do, func(m *model, err error) { m.carriedOut(o, err) })
}

func (m *model) carriedOut(o order, err error) {
	if err != nil {
		m.printError("Could not " + o.failed + ": " + err.Error())
		return
	}
	if m.took(o); o.say != "" {
		m.printWrapped(grey, "· "+o.say)
	}
}

// moveTurn makes the waiting turn and those after it ask another model.
func (m *model) moveTurn(o order, name string) tea.Cmd {
	ctx, conv := m.ctx, m.conv
	return async(func() outcome {
		err := conv.Do(ctx, o.do)
		var moved error
		if err == nil {
			moved = conv.Do(ctx, Move{name})
		}
		return func(m *model) tea.Cmd {
			late := errors.Is(moved, conversation.ErrNotWaiting) || errors.Is(moved, conversation.ErrIdle)
			if err == nil && !late { // the turn reports the switch
				o.say = ""
			}
			if m.carriedOut(o, err); moved != nil && !late {
				m.printError("Could not move the turn: " + moved.Error())
			}
			return nil
		}
	})
}

// resume continues another conversation, which the user may choose from a list.
func (m *model) resume(id string) tea.Cmd {
	if id == "" {
		return m.pick()
	}
	m.clearComposer()
	if m.id() == id {
		m.showHint("That is this conversation")
		return nil
	}
	return m.openConversation(id)
}

type completion struct{ text, about string }

// completions are those of the text being typed. Tab cycles through them.
type completions struct {
	typed    string
	all      []completion
	selected int // -1: none
}

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

// onTab completes the text being typed. With an empty composer it passes the queued prompt to the turn in progress.
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
