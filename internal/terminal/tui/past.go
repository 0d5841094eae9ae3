package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// past is what had happened in a conversation before it was opened. It is
// gathered first, so that of a long one only the end is printed.
type past struct {
	last    int64 // the number of its last record
	events  []wire.Event
	gathers bool
	tells   bool // it is being told
	heard   int  // the number of the wait for more that counts
}

// quiet says that for a while nothing more has come of the past.
type quiet struct{ heard int }

// quietTime is how long nothing has to come until the past is complete: its
// last records are not for everybody, so its end cannot be told by number.
const quietTime = 300 * time.Millisecond

// turnsTold is how many turns of the past are told.
const turnsTold = 3

// take gathers an event; false: it is not of the past.
func (p *past) take(e wire.Event) bool {
	if !p.gathers || e.Seq > p.last || !wire.Kept(e.Body) {
		return false
	}
	p.events = append(p.events, e)
	return true
}

// listen waits for more of the past.
func (p *past) listen() tea.Cmd {
	p.heard++
	n := p.heard
	return tea.Tick(quietTime, func(time.Time) tea.Msg { return quiet{n} })
}

// settle ends the gathering if nothing has come meanwhile.
func (m *model) settle(q quiet) tea.Cmd {
	if !m.past.gathers || q.heard != m.past.heard {
		return nil
	}
	return m.recall()
}

// recall tells of the past, once.
func (m *model) recall() tea.Cmd {
	if !m.past.gathers {
		return nil
	}
	events := m.past.events
	m.past = past{tells: true}
	begin := lastTurns(events, turnsTold)
	earlier := 0
	var cmds []tea.Cmd
	for i, e := range events {
		t, isTurn := wire.ToTurn(e.Body)
		if said, ok := t.(turn.UserMessage); ok {
			m.prompts.remember(said.Text)
		}
		if i >= begin || !isTurn {
			cmds = append(cmds, m.take(e))
			continue
		}
		switch t := t.(type) {
		case turn.Start:
			m.unqueue(t.ID)
			earlier++
		case turn.UserMessage:
			m.unqueue(t.ID)
		}
		if i == begin-1 {
			m.emit(m.paint.faint(fmt.Sprintf("… %d earlier turns", earlier)))
		}
	}
	m.past.tells = false
	return tea.Batch(cmds...)
}

// lastTurns gives where the last n turns begin.
func lastTurns(events []wire.Event, n int) int {
	begin := len(events)
	for i := len(events) - 1; i >= 0 && n > 0; i-- {
		if t, _ := wire.ToTurn(events[i].Body); isStart(t) {
			begin = i
			n--
		}
	}
	return begin
}

func isStart(e turn.Event) bool {
	_, ok := e.(turn.Start)
	return ok
}
