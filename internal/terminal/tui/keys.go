package tui

import (
	"context"
	"errors"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/conversation"
)

// press is when keys were pressed that count twice.
type press struct{ ctrlC, esc time.Time }

// Within these times a key counts as pressed twice.
const (
	twiceCtrlC = 2 * time.Second
	twiceEsc   = time.Second
)

// newComposer makes the place where one types.
func (m *model) newComposer() textarea.Model {
	c := textarea.New()
	c.Prompt, c.ShowLineNumbers, c.CharLimit = "> ", false, 0
	c.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	c.DynamicHeight, c.MinHeight, c.MaxHeight, c.MaxContentHeight = true, 1, 10, 10_000
	c.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("shift+enter", "alt+enter", "ctrl+j"))
	c.KeyMap.Paste.SetEnabled(false) // terminals paste themselves
	plain := textarea.StyleState{Prompt: lipgloss.NewStyle(), Text: lipgloss.NewStyle(), Placeholder: lipgloss.NewStyle().Faint(true)}

	c.SetStyles(textarea.Styles{Focused: plain, Blurred: plain})
	c.SetVirtualCursor(false)
	c.SetWidth(m.width - 1)
	return c
}

// fitComposer leaves two thirds of the window to the conversation.
func (m *model) fitComposer() {
	m.composer.MaxHeight = min(10, max(1, m.height/3))
	m.composer.SetHeight(m.composer.Height())
}

// typed tells whether something is in the composer: keys that do something act
// only where nothing is.
func (m *model) typed() bool { return m.composer.Value() != "" }

// key takes in a key.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.away.seen, m.hint = time.Now(), ""
	switch k.String() {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return tea.Suspend
	case "esc":
		return m.escape()
	case "enter":
		return m.enter()
	case "tab":
		return m.tab()
	case "up", "ctrl+p":
		if m.composer.Line() == 0 {
			return m.up()
		}
	case "down", "ctrl+n":
		if m.composer.Line() == m.composer.LineCount()-1 {
			m.down()
			return nil
		}
	}
	if !m.typed() {
		if cmd, taken := m.shortcut(k.String()); taken {
			return cmd
		}
	}
	var cmd tea.Cmd
	m.composer, cmd = m.composer.Update(k)
	return tea.Batch(cmd, m.pick())
}

// shortcut does what a key does where nothing is typed.
func (m *model) shortcut(k string) (cmd tea.Cmd, taken bool) {
	if len(m.asking) > 0 {
		if cmd, taken := m.answerKey(k); taken {
			return cmd, true
		}
	}
	switch {
	case k == "ctrl+d":
		return m.leave(), true
	case k == "r" && m.wait != nil && m.lost == nil:
		return m.hurry(), true
	case k == "r" && m.turn.again && m.turn.id == "":
		return m.again(), true
	case k == "d" && m.wait != nil && m.lost == nil:
		m.details = !m.details
		return nil, true
	}
	return nil, false
}

// interrupt is Ctrl+C: it ends what is under way, and if that takes its time,
// or if nothing is, the program.
func (m *model) interrupt() tea.Cmd {
	now := time.Now()
	twice := now.Sub(m.pressed.ctrlC) < twiceCtrlC
	m.pressed.ctrlC = now
	switch {
	case m.leaving:
		return tea.Quit
	case m.turn.id != "" && (!m.turn.stopping.IsZero() || m.turn.stuck):
		return m.leave()
	case m.turn.id != "":
		return m.stop()
	case len(m.queue) > 0 && !twice:
		return m.takeBack()
	case m.typed():
		m.prompts.remember(m.text())
		m.clear()
		m.tell("Cleared; ↑ has it")
		m.pressed.ctrlC = time.Time{}
	case twice:
		return m.leave()
	default:
		m.tell("Press Ctrl+C again to quit")
	}
	return nil
}

// escape closes what is open; twice it cancels the turn.
func (m *model) escape() tea.Cmd {
	now := time.Now()
	twice := now.Sub(m.pressed.esc) < twiceEsc
	m.pressed.esc = now
	switch {
	case len(m.picks.all) > 0:
		m.picks = picks{}
	case m.turn.id != "" && m.turn.stopping.IsZero() && twice:
		return m.stop()
	case m.details:
		m.details = false
	case m.turn.id != "":
		m.tell("Press Esc again to cancel")
	}
	return nil
}

// stop has the turn under way canceled. That shows at once, whatever time it
// takes.
func (m *model) stop() tea.Cmd {
	m.turn.stopping = time.Now()
	m.refuse()
	ctx, talk, id := m.ctx, m.talk, m.turn.id
	return run(func() did {
		err := talk.Stop(ctx, id)
		if err == nil || errors.Is(err, conversation.ErrIdle) || errors.Is(err, conversation.ErrStopped) {
			return nil
		}
		return func(m *model) tea.Cmd {
			m.turn.stopping, m.turn.stuck = time.Time{}, true
			m.trouble("It could not be canceled: " + err.Error())
			m.tell("Press Ctrl+C again to leave; the conversation is kept")
			return nil
		}
	})
}

// hurry has the wait end.
func (m *model) hurry() tea.Cmd {
	m.wait.now, m.wait.due = true, time.Now()
	return m.ask1("It could not be tried at once", Conversation.Now)
}

// again has the model asked again what it could not answer.
func (m *model) again() tea.Cmd {
	m.turn.again = false
	m.fold(true)
	return m.ask1("It could not be tried again", func(t Conversation, ctx context.Context) error {
		_, err := t.Again(ctx)
		return err
	})
}

// ask1 asks the conversation for something of which only a failure has to be
// told.
func (m *model) ask1(failed string, what func(Conversation, context.Context) error) tea.Cmd {
	ctx, talk := m.ctx, m.talk
	return run(func() did {
		err := what(talk, ctx)
		if err == nil || errors.Is(err, conversation.ErrIdle) {
			return nil
		}
		return func(m *model) tea.Cmd {
			m.trouble(failed + ": " + err.Error())
			return nil
		}
	})
}

// up takes what was queued last back into the composer, or calls up what was
// said before.
func (m *model) up() tea.Cmd {
	if !m.typed() && len(m.queue) > 0 {
		return m.takeBack()
	}
	if text, ok := m.prompts.older(m.composer.Value()); ok {
		m.fill(text)
	}
	return nil
}

func (m *model) down() {
	if text, ok := m.prompts.newer(); ok {
		m.fill(text)
	}
}
