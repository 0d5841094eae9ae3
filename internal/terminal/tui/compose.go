package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// Longer pastes are shown as a placeholder.
const (
	maxPasteBytes = 2000
	maxPasteLines = 20
)

// paste inserts pasted text. A long text is kept aside and a placeholder stands for it, so that the
// composer stays usable.
func (m *model) paste(text string) tea.Cmd {
	if m.picker != nil {
		m.picker.add(text)
		return nil
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\uFFFD")
	lines := strings.Count(text, "\n") + 1
	if len(text) > conversation.MaxText {
		m.showHint(fmt.Sprintf("That is longer than %d KiB; put it in a file instead", conversation.MaxText>>10))
		return nil
	}
	if len(text) > maxPasteBytes || lines > maxPasteLines {
		placeholder := fmt.Sprintf("[pasted %d: %s]", len(m.pastes)+1, plural.Count(lines, "line", "lines"))
		m.pastes[placeholder], text = text, placeholder
	}
	m.composer.InsertString(text)
	m.fitComposer()
	return m.complete()
}

// composerText is the text in the composer, with the pasted texts in place of their placeholders.
func (m *model) composerText() string {
	var pairs []string
	for placeholder, pasted := range m.pastes {
		pairs = append(pairs, placeholder, pasted)
	}
	return strings.NewReplacer(pairs...).Replace(m.composer.Value()) // in one pass: a paste may contain a placeholder
}

// fillComposer replaces what is in the composer.
func (m *model) fillComposer(text string) {
	m.clearComposer()
	if len(text) > maxPasteBytes || strings.Count(text, "\n") >= maxPasteLines {
		m.paste(text)
		return
	}
	m.composer.SetValue(text)
	m.fitComposer()
}

func (m *model) clearComposer() {
	m.composer.Reset()
	m.pastes = map[string]string{}
	m.completions = completions{}
	m.fitComposer()
}

// restoreDraft puts a text that was not answered back into the composer. If another text has been
// typed there, the prompt history takes it and hint says so.
func (m *model) restoreDraft(text, hint string) {
	if text = typed(text); text == "" {
		return
	}
	if m.hasDraft() {
		m.prompts.remember(text)
		m.showHint(display.Capitalize(hint))
		return
	}
	m.fillComposer(text)
}

// onEnter sends the text in the composer, or runs it if it is a command. A backslash at the end
// continues it on the next line.
func (m *model) onEnter() tea.Cmd {
	text := m.composerText()
	switch {
	case strings.HasSuffix(m.composer.Value(), `\`):
		m.composer.SetValue(strings.TrimSuffix(m.composer.Value(), `\`) + "\n")
		m.fitComposer()
		return nil
	case strings.TrimSpace(text) == "":
		return nil
	case len(text) > conversation.MaxText:
		m.showHint(fmt.Sprintf("That is longer than %d KiB; put it in a file instead", conversation.MaxText>>10))
		return nil
	}
	if c, ok := parseCommand(text); ok {
		return m.runCommand(c)
	}
	return m.sendWithFiles(m.composer.Value(), text)
}
