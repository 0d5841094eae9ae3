package tui

import (
	"errors"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/conversation"
)

// keyTimes is when the keys that count double were last pressed.
type keyTimes struct{ ctrlC, esc time.Time }

// A second press within this time counts as a double press.
const (
	ctrlCInterval = 2 * time.Second
	escInterval   = time.Second
)

// newComposer returns the text area for prompts.
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
	c.KeyMap.Paste.SetEnabled(false) // the terminal pastes
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

// hasDraft reports whether the composer holds text: shortcuts act only while it is empty.
func (m *model) hasDraft() bool { return m.composer.Value() != "" }

// onKey handles a key.
func (m *model) onKey(k tea.KeyPressMsg) tea.Cmd {
	m.attention.lastKey, m.hint = time.Now(), ""
	if m.picker != nil {
		return m.onPickerKey(k)
	}
	switch k.String() {
	case "ctrl+c":
		return m.onCtrlC()
	case "ctrl+z":
		return tea.Suspend
	case "esc":
		return m.onEsc()
	case "enter":
		return m.onEnter()
	case "tab":
		return m.onTab()
	case "up", "ctrl+p":
		if m.composer.Line() == 0 {
			return m.onUp()
		}
	case "down", "ctrl+n":
		if m.composer.Line() == m.composer.LineCount()-1 {
			m.onDown()
			return nil
		}
	}
	if !m.hasDraft() {
		if cmd, taken := m.shortcut(k.String()); taken {
			return cmd
		}
	}
	var cmd tea.Cmd
	m.composer, cmd = m.composer.Update(k)
	return tea.Batch(cmd, m.complete())
}

// shortcut runs the shortcut on a key while the composer is empty.
func (m *model) shortcut(k string) (cmd tea.Cmd, taken bool) {
	if cmd, taken := m.answerQuestion(k); taken {
		return cmd, true
	}
	switch {
	case k == "ctrl+d":
		return m.quit(), true
	case m.turn.failing && m.lost == nil:
		return m.waitKey(k)
	case m.turn.retryable && m.turn.id == "":
		return m.failureKey(k)
	}
	return nil, false
}

// waitKey runs the shortcut on a key from the first failure of an answer on.
func (m *model) waitKey(k string) (cmd tea.Cmd, taken bool) {
	switch {
	case k == "r":
		return m.retryNow(), true
	case m.wait == nil: // a try is in progress
		return nil, false
	case k == "m":
		return m.chooseModel(), true
	case k == "w" && m.wait.Fault.Window:
		m.showHint("It waits until then")
		return nil, true
	case k == "d":
		m.showDetails = !m.showDetails
		return nil, true
	}
	return nil, false
}

// failureKey runs the shortcut on a key after a turn that has failed.
func (m *model) failureKey(k string) (cmd tea.Cmd, taken bool) {
	switch {
	case k == "r":
		return m.retryTurn(false), true
	case k == "w" && m.turn.ofWindow:
		return m.retryTurn(true), true
	case k == "m" && m.turn.ofWindow:
		return m.chooseModel(), true
	}
	return nil, false
}

// modelPrompt begins the command that changes the model.
const modelPrompt = "/model "

// chooseModel lets the user choose another model.
func (m *model) chooseModel() tea.Cmd {
	m.composer.SetValue(modelPrompt)
	return m.complete()
}

// onCtrlC cancels the turn in progress. If that takes time, or if none is in progress, it quits.
func (m *model) onCtrlC() tea.Cmd {
	now := time.Now()
	twice := now.Sub(m.keyTimes.ctrlC) < ctrlCInterval
	m.keyTimes.ctrlC = now
	switch {
	case m.quitting:
		return tea.Quit
	case m.turn.id != "" && (!m.turn.cancelingSince.IsZero() || m.turn.cancelFailed):
		return m.quit()
	case m.turn.id != "":
		return m.cancelTurn()
	case len(m.queue) > 0 && !twice:
		return m.takeBackLast()
	case m.hasDraft():
		m.prompts.remember(m.composerText())
		m.clearComposer()
		m.showHint("Cleared; ↑ recalls it")
		m.keyTimes.ctrlC = time.Time{}
	case twice:
		return m.quit()
	default:
		m.showHint("Press Ctrl+C again to quit")
	}
	return nil
}

// onEsc closes what is open; a double press cancels the turn.
func (m *model) onEsc() tea.Cmd {
	now := time.Now()
	twice := now.Sub(m.keyTimes.esc) < escInterval
	m.keyTimes.esc = now
	switch {
	case m.composer.Value() == modelPrompt: // of the key m: the keys of the wait act again
		m.keyTimes.esc = time.Time{}
		m.clearComposer()
	case len(m.completions.all) > 0:
		m.keyTimes.esc, m.completions = time.Time{}, completions{}
	case m.turn.id != "" && m.turn.cancelingSince.IsZero() && twice:
		return m.cancelTurn()
	case m.showDetails:
		m.showDetails = false
	case m.turn.id != "":
		m.showHint("Press Esc again to cancel")
	}
	return nil
}

// cancelTurn cancels the turn in progress. The screen says so at once, however long it takes.
func (m *model) cancelTurn() tea.Cmd {
	m.turn.cancelingSince = time.Now()
	m.question = question{}
	return m.do(Cancel{m.turn.id}, func(m *model, err error) {
		if err == nil || errors.Is(err, conversation.ErrIdle) || errors.Is(err, conversation.ErrStopped) {
			return
		}
		m.turn.cancelingSince, m.turn.cancelFailed = time.Time{}, true
		m.printError("Could not cancel: " + err.Error())
		m.showHint("Press Ctrl+C again to quit; the conversation is kept")
	})
}

// retryNow has a try made at once, in the wait that there is or is about to be.
func (m *model) retryNow() tea.Cmd {
	if m.wait != nil {
		m.wait.urged = time.Now()
	}
	return m.do(RetryNow{}, printUnless(conversation.ErrIdle, "Could not retry now"))
}

// retryTurn asks the model again for the answer that failed, and may wait for a usage window.
func (m *model) retryTurn(untilReset bool) tea.Cmd {
	if c := m.turn.compacts; c != nil {
		m.turn.retryable = false
		m.foldFailure(true)
		return m.compact(c.Instruction)
	}
	m.turn.retryable, m.turn.failing = false, true
	m.foldFailure(true)
	return m.do(Retry{conversation.NewID(), untilReset}, func(m *model, err error) {
		if err != nil {
			m.turn.failing = false
			m.printError("Could not try again: " + err.Error())
		}
	})
}

// do carries out a command and then calls done.
func (m *model) do(c Command, done func(*model, error)) tea.Cmd {
	ctx, conv := m.ctx, m.conv
	return async(func() outcome {
		err := conv.Do(ctx, c)
		return func(m *model) tea.Cmd {
			done(m, err)
			return nil
		}
	})
}

// printUnless prints the error of a command unless it is the expected one.
func printUnless(expected error, failed string) func(*model, error) {
	return func(m *model, err error) {
		if err != nil && !errors.Is(err, expected) {
			m.printError(failed + ": " + err.Error())
		}
	}
}

// onUp takes the last queued prompt back into the composer, or recalls an earlier one.
func (m *model) onUp() tea.Cmd {
	if !m.hasDraft() && len(m.queue) > 0 {
		return m.takeBackLast()
	}
	if text, ok := m.prompts.older(m.composer.Value()); ok {
		m.fillComposer(text)
	}
	return nil
}

func (m *model) onDown() {
	if text, ok := m.prompts.newer(); ok {
		m.fillComposer(text)
	}
}
