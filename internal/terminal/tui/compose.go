package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// Bounds of what is shown as it is when it is pasted.
const (
	pasteBytes = 2000
	pasteLines = 20
)

// paste takes in what was pasted. What is long is kept aside, and words stand
// for it: a composer with a megabyte in it would be of no use to anybody.
func (m *model) paste(text string) tea.Cmd {
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\uFFFD")
	lines := strings.Count(text, "\n") + 1
	if len(text) > conversation.TextBound {
		m.tell(fmt.Sprintf("That is longer than %d KiB and cannot be said; give it as a file", conversation.TextBound>>10))
		return nil
	}
	if len(text) > pasteBytes || lines > pasteLines {
		stands := fmt.Sprintf("[pasted %d: %d lines]", len(m.pastes)+1, lines)
		m.pastes[stands], text = text, stands
	}
	m.composer.InsertString(text)
	m.fitComposer()
	return m.pick()
}

// text gives what is in the composer, with what was pasted in its place.
func (m *model) text() string {
	var pairs []string
	for stands, pasted := range m.pastes {
		pairs = append(pairs, stands, pasted)
	}
	return strings.NewReplacer(pairs...).Replace(m.composer.Value()) // in one go: what was pasted may look like that as well
}

// fill puts a text into the composer.
func (m *model) fill(text string) {
	m.clear()
	if len(text) > pasteBytes || strings.Count(text, "\n") >= pasteLines {
		m.paste(text)
		return
	}
	m.composer.SetValue(text)
	m.fitComposer()
}

func (m *model) clear() {
	m.composer.Reset()
	m.pastes = map[string]string{}
	m.picks = picks{}
	m.fitComposer()
}

// giveBack puts what was not answered back into the composer. Where something
// else has been typed there, it can be called up, and that is said.
func (m *model) giveBack(text, why string) {
	if text == "" {
		return
	}
	if m.typed() {
		m.prompts.remember(text)
		m.tell(display.Capitalize(why))
		return
	}
	m.fill(text)
}

// enter says what was typed, or does it if it is a command. A backslash at the
// end asks for one more line.
func (m *model) enter() tea.Cmd {
	text := m.text()
	switch {
	case strings.HasSuffix(m.composer.Value(), `\`):
		m.composer.SetValue(strings.TrimSuffix(m.composer.Value(), `\`) + "\n")
		m.fitComposer()
		return nil
	case strings.TrimSpace(text) == "":
		return nil
	case len(text) > conversation.TextBound:
		m.tell(fmt.Sprintf("That is longer than %d KiB and cannot be said", conversation.TextBound>>10))
		return nil
	}
	if c, ok := parseCommand(text); ok {
		return m.command(c)
	}
	m.clear()
	return m.say(text)
}
