package stream

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync"

	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/wire"
)

// ErrEnd is the last item of a subscription that ended without an error.
var ErrEnd = errors.New("end of events")

// Ended reports whether an error means that events have ended and nothing is wrong.
func Ended(err error) bool { return errors.Is(err, ErrEnd) }

// Failed is a sequence of events that fails at once.
func Failed(err error) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) { yield(wire.Event{}, err) }
}

// Item is an event on its way to a reader, or the error that ends the subscription.
type Item struct {
	wire.Event
	Err error // ErrEnd at the end
}

// itemsBuffered is how many events may be on their way to a reader.
const itemsBuffered = 64

// Subscribe reads events in the background, so that a reader can wait for something else as well. It goes on
// until ctx ends or stop is called, which waits for the background.
func Subscribe(ctx context.Context, attach func(context.Context) iter.Seq2[wire.Event, error]) (items <-chan Item, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	events := attach(ctx)
	c := make(chan Item, itemsBuffered)
	send := func(i Item) bool {
		select {
		case c <- i:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for e, err := range events {
			if !send(Item{e, err}) || err != nil {
				return
			}
		}
		send(Item{Err: ErrEnd})
	})
	return c, func() { cancel(); reading.Wait() }
}

// WriteEvent adds an event to the buffer. A server-sent event has an id if it is kept: a reader can go on
// after it.
func (s *Stream) WriteEvent(e wire.Event) {
	text := rest.JSON(e)
	if s.lines {
		s.Buffer.Write(append(text, '\n'))
		return
	}
	id := ""
	if wire.Kept(e.Body) {
		id = strconv.FormatInt(e.Seq, 10)
	}
	Frame(&s.Buffer, id, wire.Type(e.Body), text)
}

// WriteError adds the problem of an error as an event of that name, unless nothing is wrong.
func (s *Stream) WriteError(name string, err error) {
	if Ended(err) {
		return
	}
	text := rest.JSON(rest.ProblemOf(s.readers.log, s.r, err))
	if s.lines {
		s.Buffer.Write(append(text, '\n'))
		return
	}
	s.Write(name, text)
}

// Follow sends items until they end, or the reader leaves.
func (s *Stream) Follow(items <-chan Item) {
	if s.Send() != nil { // the header at once, before there is anything to send
		return
	}
	for s.FlushBatch(len(items) > 0) {
		i, ok := Receive(s, items)
		if !ok {
			return
		}
		if i.Err != nil {
			s.WriteError("problem", i.Err)
			_ = s.Flush()
			return
		}
		s.WriteEvent(i.Event)
	}
}
