package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// replay is what happened in a conversation before it was opened. It is collected first, so that
// only the end of a long one is printed.
type replay struct {
	last      int64 // the sequence number of its last record
	events    []wire.Event
	gathering bool
	printing  bool
	timer     int // the number of the current timer
}

// replayQuietMsg reports that no replayed event has come for a while.
type replayQuietMsg struct{ timer int }

// replayQuiet is how long no event may come until the replay counts as complete. Its last records
// are not public, so its end cannot be recognized by number.
const replayQuiet = 300 * time.Millisecond

// replayedTurns is how many earlier turns are printed.
const replayedTurns = 3

// collect keeps an event of the replay; false: e is not part of it.
func (p *replay) collect(e wire.Event) bool {
	if !p.gathering || e.Seq > p.last || !wire.Kept(e.Body) {
		return false
	}
	p.events = append(p.events, e)
	return true
}

// waitQuiet starts a timer for the end of the replay.
func (p *replay) waitQuiet() tea.Cmd {
	p.timer++
	n := p.timer
	return tea.Tick(replayQuiet, func(time.Time) tea.Msg { return replayQuietMsg{n} })
}

// onReplayQuiet prints the replay if no event has come since the timer was started.
func (m *model) onReplayQuiet(q replayQuietMsg) tea.Cmd {
	if !m.replay.gathering || q.timer != m.replay.timer {
		return nil
	}
	return m.printReplay()
}

// printReplay prints the end of the replay once.
func (m *model) printReplay() tea.Cmd {
	if !m.replay.gathering {
		return nil
	}
	events := m.replay.events
	m.replay = replay{printing: true}
	begin := lastTurns(events, replayedTurns)
	earlier := 0
	var cmds []tea.Cmd
	for i, e := range events {
		t, isTurn := e.Body.(wire.Turn)
		if prompt, ok := t.Event.(turn.UserMessage); ok {
			m.prompts.remember(typed(prompt.Text))
		}
		if i >= begin || !isTurn {
			cmds = append(cmds, m.onEvent(e))
			continue
		}
		switch e := t.Event.(type) {
		case turn.Start:
			m.dequeue(e.ID)
			earlier++
		case turn.UserMessage:
			m.dequeue(e.ID)
		}
		if i == begin-1 {
			m.emit(m.paint.faint("… " + plural.Count(earlier, "earlier turn", "earlier turns")))
		}
	}
	m.replay.printing = false
	return tea.Batch(cmds...)
}

// lastTurns returns the index at which the last n turns begin.
func lastTurns(events []wire.Event, n int) int {
	begin := len(events)
	for i := len(events) - 1; i >= 0 && n > 0; i-- {
		t, _ := events[i].Body.(wire.Turn)
		if _, starts := t.Event.(turn.Start); starts {
			begin = i
			n--
		}
	}
	return begin
}
