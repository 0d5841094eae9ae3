package tracing

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// batcher exports spans that have ended, several at a time.
type batcher struct {
	to      Exporter
	report  func(error)
	what    Batch         // without spans
	size    int           // of a batch
	bound   int           // of what waits
	delay   time.Duration // that a span waits
	timeout time.Duration // of an export

	full     chan struct{} // a batch is there
	stop     sync.Once
	stopping chan struct{}
	done     chan struct{}
	cancel   context.CancelFunc // ends an export in progress

	mu      sync.Mutex
	waiting []Span
	dropped int // since the last export
}

// add adds a span, or drops it if too many wait.
func (b *batcher) add(s Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= b.bound {
		b.dropped++
		return
	}
	b.waiting = append(b.waiting, s)
	if len(b.waiting) == min(b.size, b.bound) {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

// run exports until it is stopped, and then what is left.
func (b *batcher) run(ctx context.Context) {
	defer close(b.done)
	ticker := time.NewTicker(b.delay)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-b.full:
		case <-b.stopping:
			b.flush(ctx)
			return
		}
		b.flush(ctx)
	}
}

// flush exports what waits.
func (b *batcher) flush(ctx context.Context) {
	for ctx.Err() == nil {
		batch := b.what
		if batch.Spans = b.take(); len(batch.Spans) == 0 {
			return
		}
		limited, cancel := context.WithTimeout(ctx, b.timeout)
		err := b.to.Export(limited, batch)
		if cancel(); err != nil {
			b.report(err)
		}
	}
}

// take removes a batch from what waits.
func (b *batcher) take() []Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped > 0 {
		b.report(fmt.Errorf("%d spans were dropped, as %d waited", b.dropped, b.bound))
		b.dropped = 0
	}
	n := min(len(b.waiting), b.size)
	taken := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	return taken
}
