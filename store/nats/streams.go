package nats

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// The streams and their subjects. A subject is a prefix, the two digits of the
// id's partition, and the id. Keys of entries have no partition.
const (
	logStream       = "CONVERSATIONS"
	logPrefix       = "conversation." // appended; stored
	republishPrefix = "appended."     // copies of what is appended; not stored
	publishPrefix   = "published."    // not stored

	jobStream       = "TURNS"
	scheduledPrefix = "scheduled." // jobs with an instant
	duePrefix       = "due."       // jobs for workers
	consumerName    = "workers"    // of all workers

	kvStream = "ENTRIES"
	kvPrefix = "entry."
)

const (
	// format is the number of what this version writes: streams, subjects and messages. Another is refused.
	format      = 2
	partitions  = 16
	maxMessage  = 1 << 20
	usual       = 3 // replicas in a cluster, without an option
	formatField = "ridethrough-format"
)

// subject returns the subject of an id.
func subject(prefix, id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	p := byte(h.Sum32() % partitions)
	return prefix + string([]byte{'0' + p/10, '0' + p%10, '.'}) + id
}

// createStreams creates or updates the streams and the consumer, unless it may only use what exists.
func (b *backend) createStreams(ctx context.Context) error {
	for _, c := range streamConfigs() {
		if err := b.untilLeader(ctx, func(ctx context.Context) error { return b.checkStream(ctx, c.Name) }); err != nil {
			return err
		}
	}
	if b.remote.Existing {
		return nil
	}
	for _, c := range streamConfigs() {
		create := func(ctx context.Context) error {
			stream, err := b.createStream(ctx, c)
			if err == nil {
				b.streams.replace(c.Name, stream.CachedInfo())
			}
			return err
		}
		if err := b.untilLeader(ctx, create); err != nil {
			return err
		}
	}
	return b.untilLeader(ctx, b.createConsumer)
}

// streamConfigs configure all streams.
func streamConfigs() []jetstream.StreamConfig {
	return []jetstream.StreamConfig{jobConfig(), logConfig(), kvConfig()}
}

// logConfig configures the stream of the logs, which holds the truth.
func logConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: logStream, Subjects: []string{logPrefix + ">"},
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxMsgSize: maxMessage, Duplicates: limit.Dedupe,
		AllowDirect: true, AllowRollup: true, AllowAtomicPublish: true,
		RePublish: &jetstream.RePublish{Source: logPrefix + ">", Destination: republishPrefix + ">"},
	}
}

// jobConfig configures the stream of the jobs, each of which is deleted with its acknowledgement. A stream
// with schedules cannot discard new messages; without a size limit it discards nothing.
func jobConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: jobStream, Subjects: []string{scheduledPrefix + ">", duePrefix + ">"},
		Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
		MaxMsgSize: maxMessage, Duplicates: limit.Dedupe,
		AllowDirect: true, AllowMsgSchedules: true, AllowMsgTTL: true, AllowRollup: true,
	}
}

// kvConfig configures the stream of the entries, in memory.
func kvConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: kvStream, Subjects: []string{kvPrefix + ">"},
		Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew, MaxBytes: 16 << 20,
		MaxMsgsPerSubject: 1, MaxMsgSize: 128 << 10,
		AllowDirect: true, AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Minute,
	}
}

// checkStream refuses a stream of another format, such as another program's.
func (b *backend) checkStream(ctx context.Context, name string) error {
	stream, err := b.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && b.remote.Existing && name == logStream:
		return ErrNone
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return err
	}
	if got := stream.CachedInfo().Config.Metadata[formatField]; got != strconv.Itoa(format) {
		return fmt.Errorf("%w: the stream %s on the NATS servers has format %q, and this version of ridethrough reads only format %d; "+
			"use the version that wrote it, or another NATS account", ErrFormat, name, got, format)
	}
	return nil
}

// createStream creates or updates a stream. Without an option it has as many replicas as there are servers,
// up to the usual number, and never fewer than it has.
func (b *backend) createStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Metadata = map[string]string{formatField: strconv.Itoa(format)}
	if c.Replicas = b.remote.Replicas; c.Replicas > 0 {
		return b.js.CreateOrUpdateStream(ctx, c)
	}
	least := 1
	existing, err := b.js.Stream(ctx, c.Name)
	switch {
	case err == nil:
		least = existing.CachedInfo().Config.Replicas
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, err
	}
	for c.Replicas = max(usual, least); ; c.Replicas-- {
		stream, err := b.js.CreateOrUpdateStream(ctx, c)
		if c.Replicas == least || !lacksServers(err) {
			return stream, err
		}
	}
}

// lacksServers reports whether there are fewer servers than replicas.
func lacksServers(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == 10005 || api.ErrorCode == 10074)
}

// createConsumer creates or updates the consumer of the workers.
func (b *backend) createConsumer(ctx context.Context) error {
	_, err := b.js.CreateOrUpdateConsumer(ctx, jobStream, jetstream.ConsumerConfig{
		Durable: consumerName, FilterSubject: duePrefix + ">",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: b.remote.Lease,
		MaxDeliver: -1, MaxAckPending: -1,
	})
	return err
}

// untilLeader repeats an operation until the cluster has a leader for it, or ctx ends.
func (b *backend) untilLeader(ctx context.Context, do func(context.Context) error) error {
	for {
		tryCtx, cancel := context.WithTimeoutCause(ctx, answerTimeout, store.ErrUnavailable)
		err := do(tryCtx)
		if err != nil {
			err = translate(tryCtx, err)
		}
		cancel()
		if err == nil || !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull) || !sleep(ctx, retryDelay) {
			return err
		}
	}
}
