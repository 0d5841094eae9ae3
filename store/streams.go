package store

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams, and the subjects in them. A subject is a prefix, the partition
// of the id in two digits, and the id.
const (
	logs    = "CONV"
	logSub  = "conv." // what was appended; kept
	logLive = "log."  // the same, as it is appended; not kept
	live    = "live." // what is published; not kept

	turns   = "TURNS"
	parkSub = "park."   // tickets with a schedule
	dueSub  = "due."    // tickets for workers
	workers = "workers" // the consumer that all workers share

	facts   = "FACTS"
	factSub = "fact."
)

// subject is where an id has its place.
func subject(prefix, id string) string { return prefix + partition(id) + "." + id }

// oneTry is how long a change of a stream may take before it is asked for again:
// a cluster that has no leader yet does not answer at all.
const oneTry = 2 * time.Second

// lay makes the streams, or brings them up to date.
func (s *store) lay(ctx context.Context) error {
	for _, c := range []jetstream.StreamConfig{s.logs(), s.turns(), s.facts()} {
		if err := s.stream(ctx, c); err != nil {
			return err
		}
	}
	return s.consumer(ctx)
}

// logs is the stream that is the truth of everything.
func (s *store) logs() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: logs, Subjects: []string{logSub + ">"},
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxMsgSize: 1 << 20, Duplicates: dedupeFor,
		AllowDirect: true, AllowRollup: true, AllowAtomicPublish: true,
		RePublish: &jetstream.RePublish{Source: logSub + ">", Destination: logLive + ">"},
	}
}

// turns is the stream of tickets, of which each goes once it is done. A stream
// with schedules cannot refuse what is new; without a bound it drops nothing.
func (s *store) turns() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: turns, Subjects: []string{parkSub + ">", dueSub + ">"},
		Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
		MaxMsgSize: 1 << 20, Duplicates: dedupeFor,
		AllowDirect: true, AllowMsgSchedules: true, AllowMsgTTL: true, AllowRollup: true,
	}
}

// facts is the stream of what nodes share, in memory.
func (s *store) facts() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: facts, Subjects: []string{factSub + ">"},
		Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew, MaxBytes: 16 << 20,
		MaxMsgsPerSubject: 1, MaxMsgSize: 128 << 10,
		AllowDirect: true, AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Minute,
	}
}

// stream makes a stream as it should be. The replicas of one that exists are
// left alone unless the form asks for a number of them.
func (s *store) stream(ctx context.Context, c jetstream.StreamConfig) error {
	return s.settled(ctx, func(ctx context.Context) error {
		c.Replicas = max(s.form.replicas, 1)
		if s.form.replicas == 0 {
			is, err := s.js.Stream(ctx, c.Name)
			switch {
			case err == nil:
				c.Replicas = is.CachedInfo().Config.Replicas
			case !errors.Is(err, jetstream.ErrStreamNotFound):
				return err
			}
		}
		_, err := s.js.CreateOrUpdateStream(ctx, c)
		return err
	})
}

// consumer makes the one that all workers share. Where we are alone, whoever
// held a claim is dead: all that was held is due again at once.
func (s *store) consumer(ctx context.Context) error {
	return s.settled(ctx, func(ctx context.Context) error {
		if s.form.alone {
			err := s.js.DeleteConsumer(ctx, turns, workers)
			if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				return err
			}
		}
		_, err := s.js.CreateOrUpdateConsumer(ctx, turns, jetstream.ConsumerConfig{
			Durable: workers, FilterSubject: dueSub + ">",
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.form.lease,
			MaxDeliver: -1, MaxAckPending: -1,
		})
		return err
	})
}

// settled does something as often as it takes until the servers are of one
// mind, or ctx ends.
func (s *store) settled(ctx context.Context, do func(context.Context) error) error {
	limit := oneTry
	if s.form.alone {
		limit = startWithin
	}
	for {
		one, cancel := context.WithTimeoutCause(ctx, limit, ErrUnavailable)
		err := do(one)
		if err != nil {
			err = explain(one, err)
		}
		cancel()
		if err == nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrFull) || s.form.alone || !pause(ctx, again) {
			return err
		}
	}
}
