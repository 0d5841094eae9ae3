package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// picker is the list from which the user chooses the conversation to continue. It has the keys while it is open;
// the composer keeps its text.
type picker struct {
	all      []Entry // the latest first
	found    []Entry // those that match
	filter   string
	selected int // of found
}

// Bounds of the list.
const (
	maxListed = 200 // conversations that are searched
	maxPicks  = 10  // that are shown at a time
)

// match finds the conversations with all words of the filter in their title, model or directory.
func (p *picker) match() {
	words := strings.Fields(strings.ToLower(p.filter))
	p.found, p.selected = nil, 0
	for _, e := range p.all {
		text := strings.ToLower(titleOf(e.Settings) + " " + e.Settings.Model + " " + e.Folder)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			p.found = append(p.found, e)
		}
	}
}

// listEntries lists the latest conversations but one.
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

// pick lets the user choose a conversation to continue.
func (m *model) pick() tea.Cmd {
	m.clearComposer()
	ctx, convs, this := m.ctx, m.Conversations, ""
	if m.conv != nil {
		this = m.conv.ID()
	}
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
				m.picker.match()
			}
			return nil
		}
	})
}

// onPickerKey handles a key while the list is open.
func (m *model) onPickerKey(k tea.KeyPressMsg) tea.Cmd {
	p := m.picker
	switch k.String() {
	case "esc":
		if p.filter == "" {
			m.picker = nil
			return nil
		}
		p.filter = ""
		p.match()
	case "ctrl+c", "ctrl+d":
		m.picker = nil
	case "ctrl+z":
		return tea.Suspend
	case "enter":
		return m.openPicked()
	case "up", "ctrl+p", "shift+tab":
		p.selected = max(0, p.selected-1)
	case "down", "ctrl+n", "tab":
		p.selected = max(0, min(p.selected+1, len(p.found)-1))
	case "pgup":
		p.selected = max(0, p.selected-maxPicks)
	case "pgdown":
		p.selected = max(0, min(p.selected+maxPicks, len(p.found)-1))
	case "home":
		p.selected = 0
	case "end":
		p.selected = max(0, len(p.found)-1)
	case "backspace":
		r := []rune(p.filter)
		p.filter = string(r[:max(0, len(r)-1)])
		p.match()
	case "ctrl+u":
		p.filter = ""
		p.match()
	default:
		p.add(k.Text)
	}
	return nil
}

// add adds typed or pasted text to the filter.
func (p *picker) add(text string) {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !printable.Is(r) {
			return -1
		}
		return r
	}, text)
	if text != "" {
		p.filter += text
		p.match()
	}
}

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

// pickLine is a conversation in the list: its title, and as much about it as there is room for.
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

// pickHints are what else is known of the selected conversation, and the keys.
func (m *model) pickHints() string {
	keys := []string{"Enter continues", "Esc goes back"}
	if len(m.picker.found) == 0 {
		return strings.Join(keys, " · ")
	}
	about := aboutEntry(m.picker.found[m.picker.selected], time.Now())[1:]
	for len(about) > 0 && lipgloss.Width(strings.Join(slices.Concat(about, keys), " · "))+3 > m.width {
		about = about[:len(about)-1]
	}
	return strings.Join(slices.Concat(about, keys), " · ")
}

// minTitle is the width that a title has before details of a conversation are shown.
const minTitle = 24

// aboutEntry tells of a conversation, the most important first: its age, whether it is in use, its model and length.
func aboutEntry(e Entry, now time.Time) []string {
	about := []string{age(now.Sub(e.Changed))}
	if e.InUse {
		about = append(about, "open elsewhere")
	}
	if _, name, ok := strings.Cut(e.Settings.Model, "/"); ok {
		about = append(about, printable.Truncate(name, maxModel))
	}
	if e.Turns > 0 {
		about = append(about, plural.Count(e.Turns, "turn", "turns"))
	}
	return about
}

// maxModel is the longest name of a model in a list, in characters.
const maxModel = 24

// age is how long ago something was, in its largest unit.
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

// inputLines are the composer, or what is typed to search the list.
func (m *model) inputLines() []string {
	if m.picker == nil {
		return strings.Split(m.composer.View(), "\n")
	}
	return []string{truncate("> "+m.picker.filter, m.width)}
}

// cursor is the cursor in the first of the input lines; nil: there is none.
func (m *model) cursor() *tea.Cursor {
	if m.picker == nil {
		return m.composer.Cursor()
	}
	return tea.NewCursor(min(m.width-1, 2+lipgloss.Width(m.picker.filter)), 0)
}
