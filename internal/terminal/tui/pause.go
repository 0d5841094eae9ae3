package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// pauseOf returns the command that pauses a conversation, or ends its pause.
func pauseOf(name string) Command {
	if name == "pause" {
		return Pause{}
	}
	return Unpause{}
}

// setPaused pauses the conversation, or ends its pause.
func (m *model) setPaused(name string) tea.Cmd {
	m.clearComposer()
	switch {
	case m.conv == nil:
		m.showHint("There is no conversation yet")
		return nil
	case m.paused == (name == "pause"):
		m.showHint(alreadyPaused(m.paused))
		return nil
	}
	return m.do(pauseOf(name), func(m *model, err error) {
		if err != nil {
			m.printError("Could not " + name + " the conversation: " + err.Error())
		}
	})
}

// alreadyPaused says why a command changes nothing.
func alreadyPaused(paused bool) string {
	if paused {
		return "The conversation is paused; /unpause ends that"
	}
	return "The conversation is not paused"
}

// onPaused shows that the conversation is paused, or goes on. That it is paused the status says.
func (m *model) onPaused(paused bool) {
	if m.paused && !paused && !m.replay.printing {
		m.emit(m.paint.faint(display.Unpaused))
	}
	m.paused, m.wait = paused, nil
}

// setPaused pauses the conversation, or ends its pause.
func (ps *plainSession) setPaused(ctx context.Context, name string) error {
	switch {
	case ps.conv == nil:
		return errNoConversation
	case ps.paused == (name == "pause"):
		ps.line(alreadyPaused(ps.paused))
		return nil
	}
	err := ps.conv.Do(ctx, pauseOf(name))
	ps.unpausing = err == nil && name == "unpause"
	return err
}

// onPaused shows that the conversation is paused, or goes on.
func (ps *plainSession) onPaused(paused bool) {
	ps.unpausing = false
	if ps.paused == paused {
		return
	}
	if ps.paused = paused; paused {
		ps.wait = nil
		ps.line(display.Paused)
		return
	}
	ps.line(display.Unpaused)
}
