package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// picker is the list from which the user chooses the conversation to continue. While it is open it handles the
// keys, and the composer holds the search words.
type picker struct {
	all      []Entry // the latest first
	found    []Entry // those that match
	selected int     // of found
}

const (
	maxListed = 200 // conversations that are searched
	maxPicks  = 10  // that are shown at a time
)

// match finds the conversations with all words of a filter in their title, model or directory.
func (p *picker) match(filter string) {
	words := strings.Fields(strings.ToLower(filter))
	p.found, p.selected = nil, 0
	for _, e := range p.all {
		text := strings.ToLower(titleOf(e.Settings) + " " + e.Settings.Model + " " + e.Folder)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			p.found = append(p.found, e)
		}
	}
}

func listEntries(all func(func(Entry, error) bool), but string) (found []Entry, err error) {
	for e, err := range all {
		if err != nil {
			return found, err
		}
		if e.ID == but {
			continue
		}
		if found = append(found, e); len(found) == maxListed {
			break
		}
	}
	return found, nil
}

func (m *model) pick() tea.Cmd {
	m.clearComposer()
	ctx, convs, this := m.ctx, m.Conversations, m.id()
	return async(func() outcome {
		found, err := listEntries(convs.List(ctx), this)
		return func(m *model) tea.Cmd {
			switch {
			case err != nil:
				m.printError("Could not list the conversations: " + err.Error())
			case len(found) == 0:
				m.showHint("There is no other conversation")
			default:
				m.picker = &picker{all: found}
				m.picker.match(m.composer.Value())
			}
			return nil
		}
	})
}

func (m *model) onPickerKey(k tea.KeyPressMsg) tea.Cmd {
	p, filter := m.picker, m.composer.Value()
	var cmd tea.Cmd
	switch key := k.String(); key {
	case "esc", "ctrl+c", "ctrl+d":
		if key != "esc" || filter == "" {
			m.picker = nil
		}
		m.clearComposer()
	case "ctrl+z":
		return tea.Suspend
	case "enter":
		return m.openPicked()
	case "up", "ctrl+p", "shift+tab":
		p.move(-1)
	case "down", "ctrl+n", "tab":
		p.move(1)
	case "pgup":
		p.move(-maxPicks)
	case "pgdown":
		p.move(maxPicks)
	case "home":
		p.move(-len(p.found))
	case "end":
		p.move(len(p.found))
	default:
		m.composer, cmd = m.composer.Update(k)
	}
	if now := m.composer.Value(); now != filter {
		p.match(now)
	}
	return cmd
}

func (p *picker) move(by int) { p.selected = max(0, min(p.selected+by, len(p.found)-1)) }

// openPicked continues the selected conversation. One that is open in another terminal stays in the list.
func (m *model) openPicked() tea.Cmd {
	p := m.picker
	switch {
	case len(p.found) == 0:
		return nil
	case p.found[p.selected].InUse:
		m.showHint("That conversation is open in another terminal")
		return nil
	}
	m.picker = nil
	m.clearComposer()
	return m.openConversation(p.found[p.selected].ID)
}

// pickLines are the conversations to choose from, around the selected one.
func (m *model) pickLines(room int) []string {
	if m.picker == nil {
		return nil
	}
	p := m.picker
	lines := []string{m.paint.faint(truncate("Continue which one? Type to search", m.width))}
	if len(p.found) == 0 {
		return append(lines, m.paint.faint(truncate("  No conversation has these words", m.width)))
	}
	shown := max(1, min(maxPicks, room-1, len(p.found)))
	first := max(0, min(p.selected-shown/2, len(p.found)-shown))
	for i, e := range p.found[first : first+shown] {
		if first+i == p.selected {
			lines = append(lines, m.paint.strong("> "+m.pickLine(e)))
		} else {
			lines = append(lines, m.paint.faint("  "+m.pickLine(e)))
		}
	}
	return lines
}

// pickLine is a conversation in the list: its title, and as many details as fit.
func (m *model) pickLine(e Entry) string {
	about := aboutEntry(e, time.Now())
	for len(about) > 1 && lipgloss.Width(strings.Join(about, " · "))+minTitle+5 > m.width {
		about = about[:len(about)-1]
	}
	end := strings.Join(about, " · ")
	room := max(1, m.width-lipgloss.Width(end)-5)
	title := lipgloss.NewStyle().Inline(true).MaxWidth(room).Render(printable.Truncate(titleOf(e.Settings), max(2, room)))
	return title + strings.Repeat(" ", max(0, room-lipgloss.Width(title))) + "  " + end
}

func (m *model) pickHints() string {
	var about []string
	if len(m.picker.found) > 0 {
		about = aboutEntry(m.picker.found[m.picker.selected], time.Now())[1:]
	}
	return joinFitting(append(about, "Enter continues · Esc goes back"), m.width-len("  ")-1)
}

// minTitle is the width that a title gets before details of a conversation are shown.
const minTitle = 24

// aboutEntry describes a conversation, the most important first: its age, whether it is in use, its model and
// length.
func aboutEntry(e Entry, now time.Time) []string {
	about := []string{age(now.Sub(e.Changed))}
	if e.InUse {
		about = append(about, "open elsewhere")
	}
	if _, name, ok := strings.Cut(e.Settings.Model, "/"); ok {
		about = append(about, printable.Truncate(name, maxModel))
	}
	if e.Turns > 0 {
		about = append(about, text.Count(e.Turns, "turn", "turns"))
	}
	return about
}

const maxModel = 24

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h ago"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d ago"
}
