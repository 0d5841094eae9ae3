package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/wire"
)

// feed delivers the events of a conversation in batches, so that a fast model costs one frame at a time.
type feed struct {
	events chan wire.Event
	err    error // why it ended; valid once events is closed
	cancel context.CancelFunc
}

// eventsMsg are events of a feed, feedEndedMsg is its end.
type (
	eventsMsg struct {
		feed   *feed
		events []wire.Event
	}
	feedEndedMsg struct {
		feed *feed
		err  error
	}
)

// frameInterval is how long events are collected: a screen need not change more often.
const frameInterval = 16 * time.Millisecond

const maxBatch = 2000

// follow starts to deliver the events of a conversation, from the first one on.
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
		return feedEndedMsg{f, f.err}
	}
	batch := []wire.Event{e}
	for len(batch) < maxBatch {
		select {
		case e, ok := <-f.events:
			if !ok {
				return eventsMsg{f, batch}
			}
			batch = append(batch, e)
		default:
			return eventsMsg{f, batch}
		}
	}
	return eventsMsg{f, batch}
}

// nextFrame is next after the present frame has been visible for frameInterval.
func (f *feed) nextFrame() tea.Cmd {
	return tea.Tick(frameInterval, func(time.Time) tea.Msg { return f.next() })
}
