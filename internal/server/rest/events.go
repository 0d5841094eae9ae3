package rest

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync"

	"github.com/ridethrough/ridethrough/wire"
)

// ErrEnd is the last item of a subscription that ended without an error.
var ErrEnd = errors.New("end of events")

// Ended reports whether an error only means the end of the events.
func Ended(err error) bool { return errors.Is(err, ErrEnd) }

// Item is an event on its way to a reader, as it is sent, or the error that ends the subscription.
type Item struct {
	ID   string // of a server-sent event: the event is kept, so a reader can continue after it; "": it is not
	Type string
	JSON []byte
	Err  error // ErrEnd at the end
}

// NewItem returns an event as it is sent. It calls the method that package json would call: the linker keeps all
// methods of a type that may reach json, and reading events needs the types of all that agents do.
func NewItem(e wire.Event) Item {
	text, err := e.MarshalJSON()
	i := Item{Type: wire.Type(e.Body), JSON: text, Err: err}
	if wire.Kept(e.Body) {
		i.ID = strconv.FormatInt(e.Seq, 10)
	}
	return i
}

// Failed is a subscription that fails at once.
func Failed(err error) (items <-chan Item, stop func()) {
	failed := make(chan Item, 1)
	failed <- Item{Err: err}
	return failed, func() {}
}

const itemsBuffered = 64

// Subscribe reads events in the background, so that a reader can wait for something else as well. It reads until
// ctx ends or stop is called. stop waits for the background goroutine.
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
			i := Item{Err: err}
			if err == nil {
				i = NewItem(e)
			}
			if !send(i) || i.Err != nil {
				return
			}
		}
		send(Item{Err: ErrEnd})
	})
	return c, func() { cancel(); reading.Wait() }
}

// WriteItem adds an event to the buffer, or the problem of an error.
func (s *Stream) WriteItem(i Item) {
	switch {
	case i.Err != nil:
		s.WriteError("problem", i.Err)
	case s.lines:
		s.Buffer.Write(append(i.JSON, '\n'))
	default:
		Frame(&s.Buffer, i.ID, i.Type, i.JSON)
	}
}

// WriteError adds the problem of an error as an event of that name, unless nothing is wrong.
func (s *Stream) WriteError(name string, err error) {
	if Ended(err) {
		return
	}
	text := JSON(ProblemOf(s.readers.log, s.r, err))
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
		i, _, ok := Next(s, nil, items)
		if !ok {
			return
		}
		if s.WriteItem(i); i.Err != nil {
			_ = s.Flush()
			return
		}
	}
}
