package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/wire"
)

// feed follows a conversation and hands out what happens in batches, so that a
// fast model costs no more than a frame at a time.
type feed struct {
	events chan wire.Event
	err    error // why it has ended; to be read when events is closed
	cancel context.CancelFunc
}

// told are events of a feed. ended is its end.
type (
	told struct {
		of     *feed
		events []wire.Event
	}
	ended struct {
		of  *feed
		err error
	}
)

// frame is how long events are gathered: a screen need not change more often.
const frame = 16 * time.Millisecond

// batchBound is how many events a batch has at most.
const batchBound = 2000

// follow begins to follow a conversation from its beginning.
func follow(ctx context.Context, talk Conversation) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{events: make(chan wire.Event, batchBound), cancel: cancel}
	events := talk.Attach(ctx, 0) // what happens is heard from here on
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

// next gives what has happened since the last batch, or waits for something.
func (f *feed) next() tea.Msg {
	e, ok := <-f.events
	if !ok {
		return ended{f, f.err}
	}
	batch := []wire.Event{e}
	for len(batch) < batchBound {
		select {
		case e, ok := <-f.events:
			if !ok {
				return told{f, batch}
			}
			batch = append(batch, e)
		default:
			return told{f, batch}
		}
	}
	return told{f, batch}
}

// later is next, but leaves the present frame time to be seen.
func (f *feed) later() tea.Cmd {
	return tea.Tick(frame, func(time.Time) tea.Msg { return f.next() })
}
