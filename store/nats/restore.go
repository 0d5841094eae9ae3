package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
)

// streamStates are what is known of the streams. A server that comes back without a stream, or with an
// earlier state of it, says nothing: only the comparison shows the loss.
type streamStates struct {
	recheck chan struct{} // has an element if the streams are to be checked: there may be other servers, or others in their place

	mu     sync.Mutex
	known  map[string]streamState // by name
	losses []store.Loss           // of records and jobs
	shared string                 // when entries were lost last, as a warning; "": never
}

// streamState is the last known state of a stream.
type streamState struct {
	created time.Time
	last    uint64 // sequence number
}

// raise notes a sequence number of a stream.
func (s *streamStates) raise(name string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, ok := s.known[name]; ok && seq > state.last {
		state.last = seq
		s.known[name] = state
	}
}

// state returns what is known of a stream.
func (s *streamStates) state(name string) streamState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[name]
}

// replace notes another state of a stream.
func (s *streamStates) replace(name string, info *jetstream.StreamInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name] = streamState{info.Created, info.State.LastSeq}
}

// addLoss notes a loss for the health.
func (s *streamStates) addLoss(name string, l store.Loss) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == kvStream {
		s.shared = l.Noticed.Format(time.RFC3339) + ": the NATS servers restarted and forgot the outages that processes share"
		return
	}
	l.Jobs = name == jobStream
	s.losses = append(s.losses[max(0, len(s.losses)-maxLosses+1):], l)
}

// addHealth adds the losses.
func (s *streamStates) addHealth(h *store.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Losses = slices.Clone(s.losses)
	if s.shared != "" {
		h.Warnings = append(h.Warnings, s.shared)
	}
}

const (
	maxLosses   = 10          // that are shown
	restoreWait = time.Second // until a restoration that failed is repeated
)

// keepStreams restores the streams when they may have changed, until the back end is closed.
func (b *backend) keepStreams() {
	for {
		select {
		case <-b.lifetime.Done():
			return
		case <-b.streams.recheck:
		}
		logged := ""
		for err := b.restoreStreams(b.lifetime); err != nil; err = b.restoreStreams(b.lifetime) {
			if text := err.Error(); text != logged && b.lifetime.Err() == nil {
				b.remote.Log.Warn("streams on the NATS servers not restored yet", "error", text)
				logged = text
			}
			if !sleep(b.lifetime, restoreWait) {
				return
			}
		}
	}
}

// restoreStreams creates the streams and the consumer that the servers no longer have.
func (b *backend) restoreStreams(ctx context.Context) error {
	for _, c := range streamConfigs() {
		if err := b.attempt(ctx, func(ctx context.Context) error { return b.restoreStream(ctx, c) }); err != nil {
			return fmt.Errorf("stream %s: %w", c.Name, err)
		}
	}
	return b.attempt(ctx, func(ctx context.Context) error {
		_, err := b.js.Consumer(ctx, jobStream, consumerName)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			err = b.createConsumer(ctx)
		}
		return err
	})
}

// restoreStream creates a stream if the servers no longer have it, and reports what it has lost: of the state
// that was known before the servers were asked, as others may write meanwhile.
func (b *backend) restoreStream(ctx context.Context, c jetstream.StreamConfig) error {
	former := b.streams.state(c.Name)
	stream, err := b.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = b.createStream(ctx, c)
	}
	if err != nil {
		return err
	}
	now := stream.CachedInfo()
	anew := !now.Created.Equal(former.created)
	if !anew && now.State.LastSeq >= former.last {
		b.streams.raise(c.Name, now.State.LastSeq)
		return nil
	}
	b.streams.replace(c.Name, now)
	switch {
	case !anew:
		b.reportLoss(c.Name, now.State.LastSeq+1, former.last)
	case former.last > 0:
		b.reportLoss(c.Name, 1, former.last)
	}
	return nil
}

// reportLoss reports that the servers have lost messages of a stream.
func (b *backend) reportLoss(name string, first, last uint64) {
	b.remote.Log.Warn("the NATS servers have lost what a stream stored",
		"stream", name, "contents", contents(name), "first", first, "last", last)
	b.streams.addLoss(name, store.Loss{Noticed: time.Now().UTC(), First: first, Last: last, Messages: last - first + 1})
}

// contents returns what a stream stores.
func contents(name string) string {
	switch name {
	case logStream:
		return "records of conversations"
	case jobStream:
		return "jobs of turns"
	}
	return "the outages that processes share"
}
