package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/wire"
)

// compactCommand is the command that asks for a smaller history.
func compactCommand(instruction string) string {
	return strings.TrimSpace("/compact " + instruction)
}

// compact replaces the oldest messages by a summary, in a turn of its own.
func (m *model) compact(instruction string) tea.Cmd {
	if m.conv == nil {
		m.showHint("There is no conversation yet")
		return nil
	}
	return m.do(Compact{conversation.NewID(), instruction}, func(m *model, err error) {
		if err != nil {
			m.printError("Could not shorten the conversation: " + err.Error())
		}
	})
}

// onInput shows an input that waits for its turn.
func (m *model) onInput(b wire.InputQueued) {
	if b.Compact {
		m.enqueue(b.TurnID, compactCommand(b.Text))
		return
	}
	m.onQueued(b.TurnID, b.Text)
}

// compact replaces the oldest messages by a summary.
func (ps *plainSession) compact(ctx context.Context, instruction string) error {
	if ps.conv == nil {
		return errNoConversation
	}
	id := conversation.NewID()
	err := ps.conv.Do(ctx, Compact{id, instruction})
	if err == nil {
		ps.openTurns[id] = true
	}
	return err
}
