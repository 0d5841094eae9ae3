package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// feed delivers the events of a conversation in batches, so that a fast model costs one frame at a time.
type feed struct {
	events chan wire.Event
	err    error // why it ended; valid once events is closed
	cancel context.CancelFunc
}

type (
	eventsMsg struct {
		feed   *feed
		events []wire.Event
	}
	feedEndedMsg struct{ feed *feed }
)

// frameInterval is how long events are collected: a screen need not change more often.
const frameInterval = 16 * time.Millisecond

const maxBatch = 2000

func follow(ctx context.Context, conv Conversation) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{events: make(chan wire.Event, maxBatch), cancel: cancel}
	events := conv.Attach(ctx, 0) // from here on no event is missed
	go func() {
		defer close(f.events)
		defer func() {
			if p := recover(); p != nil {
				f.err = fmt.Errorf("%w: %v", errPanic, p)
			}
		}()
		for e, err := range events {
			if err != nil {
				f.err = err
				return
			}
			select {
			case f.events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return f
}

// next returns the events since the last batch, or waits for one.
func (f *feed) next() tea.Msg {
	e, ok := <-f.events
	if !ok {
		return feedEndedMsg{f}
	}
	batch := []wire.Event{e}
	for range len(f.events) {
		batch = append(batch, <-f.events)
	}
	return eventsMsg{f, batch}
}

// nextFrame is next after the current frame has been visible for frameInterval.
func (f *feed) nextFrame() tea.Cmd {
	return tea.Tick(frameInterval, func(time.Time) tea.Msg { return f.next() })
}

// replay is the past of a conversation before it was opened. It is collected first, so that only the end of a long
// one is printed.
type replay struct {
	last      int64 // the sequence number of its last record
	events    []wire.Event
	gathering bool
	printing  bool
	timer     int // the number of the current timer
}

// replayQuietMsg reports that no replayed event has arrived for a while.
type replayQuietMsg struct{ timer int }

// replayQuiet is the silence after which the replay counts as complete. Its last records are not public, so its end
// cannot be recognized by number.
const replayQuiet = 300 * time.Millisecond

const replayedTurns = 3

// collect keeps an event of the replay; false: e is not part of it.
func (p *replay) collect(e wire.Event) bool {
	if !p.gathering || e.Seq > p.last || !wire.Kept(e.Body) {
		return false
	}
	p.events = append(p.events, e)
	return true
}

func (p *replay) waitQuiet() tea.Cmd {
	p.timer++
	n := p.timer
	return tea.Tick(replayQuiet, func(time.Time) tea.Msg { return replayQuietMsg{n} })
}

// onReplayQuiet prints the replay if no event has arrived since the timer was started.
func (m *model) onReplayQuiet(q replayQuietMsg) tea.Cmd {
	if !m.replay.gathering || q.timer != m.replay.timer {
		return nil
	}
	return m.printReplay()
}

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
		if i == begin && earlier > 0 {
			m.emit(m.paint.faint("… " + text.Count(earlier, "earlier turn", "earlier turns")))
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
