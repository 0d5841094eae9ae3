package notify

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// queueBound bounds the notices that wait for one target. One more replaces the oldest.
const queueBound = 16

// Notifier delivers notices to targets. Its methods may be called concurrently; only Close waits.
type Notifier struct {
	log     *slog.Logger
	client  *http.Client
	ctx     context.Context // of all deliveries
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	boxes  []*outbox
}

type outbox struct {
	Target
	queue []Notice
	busy  bool   // a goroutine delivers them
	wrong string // why the last one was not delivered; "": it was
}

var errClosed = errors.New("the program ends")

// New returns a notifier without targets, which must be closed. transport is used for HTTP; nil: the default.
func New(log *slog.Logger, transport http.RoundTripper) *Notifier {
	n := &Notifier{log: log, client: NewClient()}
	n.client.Transport = transport
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	return n
}

// Use replaces the targets. Notices that are queued for the earlier ones are still delivered.
func (n *Notifier) Use(targets []Target) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.boxes = nil
	for _, t := range targets {
		n.boxes = append(n.boxes, &outbox{Target: t})
	}
}

// Send queues a notice for each target that wants it.
func (n *Notifier) Send(notice Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	for _, b := range n.boxes {
		if !b.wants(notice) {
			continue
		}
		if len(b.queue) >= queueBound {
			n.log.Warn("notice dropped, since too many wait", "target", b.describe(), "event", string(b.queue[0].Event), "upstream", b.queue[0].Upstream)
			b.queue = slices.Delete(b.queue, 0, 1)
		}
		b.queue = append(b.queue, notice)
		if !b.busy {
			b.busy = true
			n.running.Go(func() { n.drain(b) })
		}
	}
}

func (n *Notifier) drain(b *outbox) {
	for {
		n.mu.Lock()
		if len(b.queue) == 0 {
			b.busy = false
			n.mu.Unlock()
			return
		}
		notice := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		n.mu.Unlock()
		wrong, log := "", n.log.With("target", b.describe(), "event", string(notice.Event), "upstream", notice.Upstream)
		if err := n.deliver(&b.Target, notice); err != nil {
			wrong = text.Clip(fault.Scrub(err.Error()), errorBound)
			log.Warn("notice not delivered", "error", wrong)
		} else {
			log.Info("notice delivered")
		}
		n.mu.Lock()
		b.wrong = wrong
		n.mu.Unlock()
	}
}

const errorBound = 300

// Warnings returns a sentence for each target that did not get the last notice.
func (n *Notifier) Warnings() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.boxes {
		if b.wrong != "" {
			all = append(all, "Notices do not reach "+b.describe()+": "+b.wrong)
		}
	}
	return all
}

// deliver sends a notice, with retries if they may help.
func (n *Notifier) deliver(t *Target, notice Notice) error {
	_, err := retry.Do(n.ctx, retry.Retrier{Policy: policy.Interactive()}, func(ctx context.Context, _ int) (struct{}, error) {
		return struct{}{}, t.Send(ctx, n.client, notice)
	})
	return err
}

// Close waits at most for grace until all notices are delivered, and cancels the rest.
func (n *Notifier) Close(grace time.Duration) {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(n.ctx, grace, errClosed)
	defer cancel()
	context.AfterFunc(ctx, func() { n.cancel(errClosed) })
	n.running.Wait()
	n.client.CloseIdleConnections()
}
