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

type keyTimes struct{ ctrlC, esc time.Time }

const (
	ctrlCInterval = 2 * time.Second
	escInterval   = time.Second
)

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
			if text, ok := m.prompts.newer(); ok {
				m.fillComposer(text)
			}
			return nil
		}
	}
	if !m.hasDraft() {
		if cmd, taken := m.press(k.String()); taken {
			return cmd
		}
	}
	var cmd tea.Cmd
	m.composer, cmd = m.composer.Update(k)
	return tea.Batch(cmd, m.complete())
}

// press handles a key that acts only while the composer is empty.
func (m *model) press(k string) (cmd tea.Cmd, taken bool) {
	if cmd, taken := m.answerQuestion(k); taken {
		return cmd, true
	}
	if k == "ctrl+d" {
		return m.quit(), true
	}
	for _, s := range m.shortcuts() {
		if s.key == k {
			return s.run(), true
		}
	}
	return nil, false
}

// shortcut is a key that acts during a wait or after a failure.
type shortcut struct {
	key, hint string // hint "": it is not shown
	run       func() tea.Cmd
}

// shortcuts are the keys that act after the first failure of an answer, and after a failed turn.
func (m *model) shortcuts() []shortcut {
	other, reset := "m another model", "w waits for the reset"
	if m.width < 60 {
		other, reset = "m model", "w waits"
	}
	again := shortcut{"r", "r tries again", func() tea.Cmd { return m.retryTurn(false) }}
	switch failed := m.turn.retryable && m.turn.id == ""; {
	case m.turn.failing && m.lost == nil && m.wait == nil: // a try is in progress
		return []shortcut{{"r", "", m.retryNow}}
	case m.turn.failing && m.lost == nil:
		all := []shortcut{{"r", "r now", m.retryNow}, {"m", other, m.chooseModel}, {"d", "d details", func() tea.Cmd {
			m.showDetails = !m.showDetails
			return nil
		}}}
		if m.wait.Fault.Window {
			all = append(all, shortcut{"w", "", func() tea.Cmd {
				m.showHint("It waits until then")
				return nil
			}})
		}
		return all
	case failed && m.turn.ofWindow:
		return []shortcut{{"w", reset, func() tea.Cmd { return m.retryTurn(true) }}, {"m", other, m.chooseModel}, again}
	case failed:
		return []shortcut{again}
	}
	return nil
}

const modelPrompt = "/model "

func (m *model) chooseModel() tea.Cmd {
	m.composer.SetValue(modelPrompt)
	return m.complete()
}

// pressed records a key press, and reports whether it is the second within a time.
func pressed(last *time.Time, within time.Duration) (twice bool) {
	before := *last
	*last = time.Now()
	return last.Sub(before) < within
}

// onCtrlC cancels the turn in progress. It quits if canceling takes time, or if no turn is in progress.
func (m *model) onCtrlC() tea.Cmd {
	twice := pressed(&m.keyTimes.ctrlC, ctrlCInterval)
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
	twice := pressed(&m.keyTimes.esc, escInterval)
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

// cancelTurn cancels the turn in progress. The screen says so at once, however long that takes.
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

// retryNow retries at once, in the current wait or the one that is about to begin.
func (m *model) retryNow() tea.Cmd {
	if m.wait != nil {
		m.wait.urged = time.Now()
	}
	return m.do(RetryNow{}, printUnless(conversation.ErrIdle, "Could not retry now"))
}

// retryTurn asks the model again for the failed answer, and may wait for a usage window.
func (m *model) retryTurn(untilReset bool) tea.Cmd {
	if c := m.turn.compacts; c != nil {
		m.turn.retryable = false
		m.foldFailure(true)
		return m.carryOut(slashCommand{"compact", c.Instruction})
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
