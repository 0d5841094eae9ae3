package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// slowSync is from when on a disk makes everybody wait: each append is one.
const slowSync = 5 * time.Millisecond

func (s *store) Health(ctx context.Context) (Health, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Health{}, err
	}
	defer leave()
	h := Health{Mode: s.mode(), Server: s.nc.ConnectedServerVersion()}
	for _, add := range []func(context.Context, *Health) error{s.countLogs, s.countTickets} {
		if err := add(ctx, &h); err != nil {
			return h, explain(ctx, err)
		}
	}
	if s.own != nil {
		s.own.report(&h)
	}
	return h, nil
}

func (s *store) mode() string {
	switch {
	case s.own == nil:
		return "remote"
	case s.form.alone:
		return "alone"
	}
	return "cluster"
}

// countLogs reports on the stream of logs, and what the server has found to be
// damaged in it.
func (s *store) countLogs(ctx context.Context, h *Health) error {
	stream, err := s.js.Stream(ctx, logs)
	if err != nil {
		return err
	}
	state := stream.CachedInfo().State
	h.Logs, h.Bytes = int64(state.NumSubjects), state.Bytes
	h.trouble(state, "conversations")
	return nil
}

// trouble reports what a stream has lost.
func (h *Health) trouble(state jetstream.StreamState, of string) {
	if lost := state.Lost; lost != nil && (len(lost.Msgs) > 0 || lost.Bytes > 0) {
		h.Trouble = append(h.Trouble, fmt.Sprintf("the disk has lost %d entries of %s (%d bytes)", len(lost.Msgs), of, lost.Bytes))
	}
}

// countTickets reports on the queue.
func (s *store) countTickets(ctx context.Context, h *Health) error {
	stream, err := s.js.Stream(ctx, turns)
	if err != nil {
		return err
	}
	state := stream.CachedInfo().State
	h.Bytes += state.Bytes
	h.trouble(state, "tickets")
	consumer, err := stream.Consumer(ctx, workers)
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	h.Due, h.Held = int64(info.NumPending), int64(info.NumAckPending)
	h.Parked = max(0, int64(state.Msgs)-h.Due-h.Held)
	return nil
}

// report tells of the server in this process and of its disk.
func (h *host) report(to *Health) {
	to.Dir, to.Sync, to.Limit = h.guard.dir, h.sync, uint64(h.guard.limit)
	if err := h.room(accepting); err != nil {
		to.Full = true
		to.Trouble = append(to.Trouble, err.Error())
	}
	if seen := h.guard.seen.Load(); seen != nil {
		to.Free = uint64(max(0, seen.free))
	}
	to.Trouble = append(to.Trouble, h.witness.trouble()...)
	if h.sync > slowSync {
		to.Trouble = append(to.Trouble, fmt.Sprintf("the disk takes %v to make a write last, and every append waits for it", h.sync))
	}
}
