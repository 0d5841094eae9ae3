package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// command is what begins with a slash: it is for us and not for the model.
type command struct{ name, rest string }

// parseCommand tells a command from a path and from other things that begin
// with a slash.
func parseCommand(text string) (command, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	end := strings.IndexFunc(text, func(r rune) bool { return !isLetter(r) })
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	if !ok || name == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' || strings.Contains(rest, "\n") {
		return command{}, false
	}
	return command{name, strings.TrimSpace(rest)}, true
}

// slashes are the commands there are, with what they are for.
func slashes() []pick {
	return []pick{
		{"/help", "keys and commands"},
		{"/model", "NAME: have another model answer from now on"},
		{"/new", "begin another conversation"},
		{"/quit", "leave; the conversation is kept"},
		{"/resume", "[ID]: go on with another conversation"},
	}
}

// command does what was asked for. What cannot be done stays in the composer.
func (m *model) command(c command) tea.Cmd {
	if (c.name == "new" || c.name == "resume") && (len(m.unsaid) > 0 || m.opening) {
		m.tell("What was said is still on its way into this conversation")
		return nil
	}
	switch c.name {
	case "help":
		m.clear()
		m.help()
	case "model":
		return m.setModel(c.rest)
	case "new":
		m.clear()
		cmd := m.leaveTalk()
		m.emit("", m.paint.faint("· a new conversation"))
		return cmd
	case "quit", "exit":
		m.clear()
		return m.leave()
	case "resume":
		return m.resume(c.rest)
	default:
		m.tell("There is no command /" + c.name + "; /help tells which there are")
	}
	return nil
}

// help prints the keys and commands.
func (m *model) help() {
	m.emit("")
	for _, p := range slashes() {
		m.emit(m.paint.faint(cutTo(fmt.Sprintf("  %-9s %s", p.value, p.about), m.width)))
	}
	for _, p := range []pick{
		{"Enter", "say it; while the model is busy it is queued"},
		{`\ Enter`, "another line (also Shift+Enter, Alt+Enter, Ctrl+J)"},
		{"Tab", "complete; with an empty composer: hand what is queued to the turn under way"},
		{"↑ ↓", "take back what is queued; what was said before"},
		{"r", "while waiting: try now; after a failure: try again"},
		{"d", "details of what fails: status, request id, tries"},
		{"Ctrl+C", "cancel (Esc twice as well); twice when idle: quit"},
		{"Ctrl+D", "quit"},
	} {
		m.emit(m.paint.faint(cutTo("  "+pad(p.value, 9)+" "+p.about, m.width)))
	}
	m.emit("")
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-len([]rune(s))))
}

// setModel has another model answer from the next turn on.
func (m *model) setModel(name string) tea.Cmd {
	if name == "" {
		m.clear()
		m.tell("The model is " + display.OneLine(m.session.Model) + "; /model NAME takes another")
		return nil
	}
	m.clear()
	s := m.session
	s.Model = name
	if m.talk == nil {
		m.session = s
		m.tell("The model is " + name)
		return nil
	}
	ctx, talk := m.ctx, m.talk
	return run(func() did {
		err := talk.Change(ctx, s)
		return func(m *model) tea.Cmd {
			if err != nil {
				m.trouble("The model is as before: " + err.Error())
				return nil
			}
			m.session = s
			m.emit(m.paint.faint(cutTo("· "+display.OneLine(name)+" answers from now on", m.width)))
			return nil
		}
	})
}

// resumable is how many conversations are offered.
const resumable = 20

// resume goes on with another conversation, or offers those there are.
func (m *model) resume(id string) tea.Cmd {
	if id == "" {
		return m.offer()
	}
	m.clear()
	if m.talk != nil && m.talk.ID() == id {
		m.tell("That is this conversation")
		return nil
	}
	return m.open(id)
}

// offer has the latest conversations offered for completion.
func (m *model) offer() tea.Cmd {
	ctx, talks := m.ctx, m.Conversations
	return run(func() did {
		var found []pick
		for e, err := range talks.List(ctx) {
			if err != nil {
				return func(m *model) tea.Cmd {
					m.trouble("The conversations cannot be listed: " + err.Error())
					return nil
				}
			}
			found = append(found, pick{"/resume " + e.ID, aboutEntry(e, time.Now())})
			if len(found) == resumable {
				break
			}
		}
		return func(m *model) tea.Cmd {
			typed := m.composer.Value()
			if !strings.HasPrefix(typed, "/resume") {
				return nil
			}
			if len(found) == 0 {
				m.tell("There is no other conversation")
			}
			found = slices.DeleteFunc(found, func(p pick) bool { return !strings.HasPrefix(p.value, typed) })
			m.picks = picks{typed: typed, all: found, at: -1}
			return nil
		}
	})
}

// aboutEntry says what people know a conversation by.
func aboutEntry(e Entry, now time.Time) string {
	about := display.Clock(e.Changed, now) + "  " + display.Truncate(e.Settings.Title, titleBound)
	if e.InUse {
		about += "  (open in another terminal)"
	}
	return about
}

// pick is something that could be meant.
type pick struct{ value, about string }

// picks are what could be meant by what was typed. Tab goes through them.
type picks struct {
	typed string
	all   []pick
	at    int // the one that was taken; -1: none
}

// pick finds what could be meant by what is typed.
func (m *model) pick() tea.Cmd {
	typed := m.composer.Value()
	if typed == m.picks.typed {
		return nil
	}
	m.picks = picks{typed: typed, at: -1}
	if !strings.HasPrefix(typed, "/") || strings.Contains(typed, "\n") {
		return nil
	}
	var all []pick
	switch {
	case strings.HasPrefix(typed, "/resume "):
		return m.offer()
	case strings.HasPrefix(typed, "/model "):
		for _, name := range m.Models() {
			all = append(all, pick{"/model " + name, ""})
		}
	default:
		all = slashes()
	}
	m.picks.all = slices.DeleteFunc(all, func(p pick) bool { return !strings.HasPrefix(p.value, typed) || p.value == typed })
	return nil
}

// tab completes what is typed, or with nothing there hands what is queued to
// the turn under way.
func (m *model) tab() tea.Cmd {
	switch {
	case len(m.picks.all) > 0:
		m.picks.at = (m.picks.at + 1) % len(m.picks.all)
		value := m.picks.all[m.picks.at].value
		if len(m.picks.all) == 1 && !strings.Contains(value, " ") {
			value += " "
		}
		m.composer.SetValue(value)
		if len(m.picks.all) == 1 {
			m.picks = picks{}
			return m.pick()
		}
		m.picks.typed = value // going on with Tab goes on in the list
	case !m.typed() && len(m.queue) > 0 && m.turn.id != "":
		return m.steer()
	}
	return nil
}
