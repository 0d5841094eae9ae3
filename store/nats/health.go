package nats

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
)

// Snapshot implements [store.Lifecycle].
func (*backend) Snapshot(context.Context, func(*os.File) error) error { return errors.ErrUnsupported }

// Health implements [store.Lifecycle].
func (b *backend) Health(ctx context.Context) (store.Health, error) {
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return store.Health{}, err
	}
	defer done()
	var h store.Health
	err = b.ask(ctx, answerTimeout, func(ctx context.Context) error {
		h = store.Health{Mode: "remote", Server: b.nc.ConnectedServerVersion()}
		b.streams.addHealth(&h)
		if err := b.addLogs(ctx, &h); err != nil {
			return err
		}
		return b.addJobs(ctx, &h)
	})
	return h, annotate("read health", err)
}

// addLogs adds the state of the stream of the logs.
func (b *backend) addLogs(ctx context.Context, h *store.Health) error {
	stream, err := b.js.Stream(ctx, logStream)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	h.Logs, h.Bytes, h.Replicas = int64(info.State.NumSubjects), info.State.Bytes, info.Config.Replicas
	if h.Replicas == 1 && info.Cluster != nil && info.Cluster.Name != "" {
		h.Warnings = append(h.Warnings, fmt.Sprintf("everything is on one server of the cluster %s, %s: while that is away, no conversation can be used, "+
			"and if its disk is lost, so are they; --nats-replicas 3 stores copies on three", info.Cluster.Name, info.Cluster.Leader))
	}
	warnLost(h, info.State, "logs")
	return nil
}

// warnLost adds a warning if the server has lost messages of a stream.
func warnLost(h *store.Health, state jetstream.StreamState, of string) {
	if lost := state.Lost; lost != nil && (len(lost.Msgs) > 0 || lost.Bytes > 0) {
		h.Warnings = append(h.Warnings, fmt.Sprintf("the disk has lost %d messages of the %s (%d bytes)", len(lost.Msgs), of, lost.Bytes))
	}
}

// addJobs adds the state of the queue.
func (b *backend) addJobs(ctx context.Context, h *store.Health) error {
	stream, err := b.js.Stream(ctx, jobStream)
	if err != nil {
		return err
	}
	state := stream.CachedInfo().State
	h.Bytes += state.Bytes
	warnLost(h, state, "jobs")
	consumer, err := stream.Consumer(ctx, consumerName)
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	h.Due, h.Leased = int64(info.NumPending), int64(info.NumAckPending)
	h.Scheduled = max(0, int64(state.Msgs)-h.Due-h.Leased)
	return nil
}
