package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// streamStates are what is known of the streams. A server that comes back without a stream, or with an
// earlier state of it, says nothing: only the comparison shows the loss.
type streamStates struct {
	recheck chan struct{} // has an element if the streams are to be checked

	mu     sync.Mutex
	known  map[string]streamState // by name
	losses []string               // in sentences
}

// streamState is the last known state of a stream.
type streamState struct {
	created time.Time
	last    uint64 // sequence number
}

// checkAgain has the streams checked: there may be other servers, or others in their place.
func (s *streamStates) checkAgain() {
	select {
	case s.recheck <- struct{}{}:
	default:
	}
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

// replace notes the state of a stream and returns the former one.
func (s *streamStates) replace(name string, info *jetstream.StreamInfo) (former streamState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]streamState{}
	}
	former = s.known[name]
	s.known[name] = streamState{info.Created, info.State.LastSeq}
	return former
}

// addLoss notes a loss for the health.
func (s *streamStates) addLoss(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.losses) == maxLosses {
		s.losses = s.losses[1:]
	}
	s.losses = append(s.losses, text)
}

// warnings returns the losses.
func (s *streamStates) warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.losses...)
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
				b.log.Warn("streams on the NATS servers not restored yet", "error", text)
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

// restoreStream creates a stream if the servers no longer have it, and reports what it has lost.
func (b *backend) restoreStream(ctx context.Context, c jetstream.StreamConfig) error {
	stream, err := b.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = b.createStream(ctx, c)
	}
	if err != nil {
		return err
	}
	now := stream.CachedInfo()
	former := b.streams.replace(c.Name, now)
	switch lost := former.last; {
	case lost > 0 && !now.Created.Equal(former.created):
		b.reportLoss(c.Name, fmt.Sprintf("all of it, up to message %d", lost))
	case lost > now.State.LastSeq:
		b.reportLoss(c.Name, fmt.Sprintf("messages %d to %d", now.State.LastSeq+1, lost))
	}
	return nil
}

// reportLoss reports that the servers have lost messages of a stream.
func (b *backend) reportLoss(name, messages string) {
	b.log.Warn("the NATS servers have lost what a stream stored", "stream", name, "contents", contents(name), "lost", messages)
	b.streams.addLoss(fmt.Sprintf("%s: the NATS servers have lost %s (stream %s: %s)",
		time.Now().UTC().Format(time.RFC3339), contents(name), name, messages))
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
