package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Longer pastes are shown as a placeholder.
const (
	maxPasteBytes = 2000
	maxPasteLines = 20
)

// paste inserts pasted text. A placeholder replaces a long text, so that the composer stays usable.
func (m *model) paste(pasted string) tea.Cmd {
	if m.picker != nil {
		m.composer.InsertString(strings.Join(strings.Fields(pasted), " "))
		m.picker.match(m.composer.Value())
		return nil
	}
	pasted = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(pasted, "\r\n", "\n"), "\r", "\n"), "\uFFFD")
	lines := strings.Count(pasted, "\n") + 1
	if len(pasted) > conversation.MaxText {
		m.showHint("That is " + tooLong + "; put it in a file instead")
		return nil
	}
	if len(pasted) > maxPasteBytes || lines > maxPasteLines {
		placeholder := fmt.Sprintf("[pasted %d: %s]", len(m.pastes)+1, text.Count(lines, "line", "lines"))
		m.pastes[placeholder], pasted = pasted, placeholder
	}
	m.composer.InsertString(pasted)
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

// restoreDraft puts an unanswered text back into the composer. If the user has typed another text there, it goes
// into the prompt history and hint says so.
func (m *model) restoreDraft(draft, hint string) {
	if draft = typed(draft); draft == "" {
		return
	}
	if m.hasDraft() {
		m.prompts.remember(draft)
		m.showHint(text.Capital(hint))
		return
	}
	m.fillComposer(draft)
}

// onEnter sends the text in the composer, or runs it if it is a command. After a backslash it continues on the next
// line.
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
		m.showHint("That is " + tooLong + "; put it in a file instead")
		return nil
	}
	if c, ok := parseCommand(text); ok {
		return m.runCommand(c)
	}
	return m.sendWithFiles(m.composer.Value(), text)
}
