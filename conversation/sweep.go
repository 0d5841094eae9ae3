package conversation

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

const (
	sweepInterval = time.Hour
	sweepBack     = 7 * 24 * time.Hour // a runner that starts looks at conversations that have changed since
	sweepAge      = time.Minute        // the job of a younger input may be on its way
)

// sweepAgain enqueues jobs for turns that lack one: when the runner starts, when it has missed messages, as after each
// loss of the connection, and every hour.
func (r *Runner) sweepAgain(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard, err := r.Store.Subscribe(ctx, recoveries)
	if err != nil {
		return err
	}
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for since := time.Now().Add(-sweepBack); ; {
		began := time.Now()
		swept, err := r.sweep(ctx, since)
		if err != nil {
			return err
		}
		if swept {
			since = began.Add(-sweepInterval)
		}
		for again := false; !again; {
			select {
			case m, open := <-heard:
				if again = m.Gap; !open {
					return nil
				}
			case <-tick.C:
				again = true
			}
		}
	}
}

// sweep enqueues a job for each conversation in which something is to be done and nothing has happened for a while,
// among those that have changed since then. One that has a job already gets another, which is dropped. While more jobs
// wait than the runner has workers, nothing can be told from that, and it does nothing.
func (r *Runner) sweep(ctx context.Context, since time.Time) (done bool, err error) {
	if h, err := r.Store.Health(ctx); err != nil || h.Due > int64(r.Workers) {
		return false, err
	}
	for head, err := range r.Store.Conversations(ctx, "") {
		if err != nil {
			return false, err
		}
		if head.Last.Time.Before(since) || head.Last.Type == created {
			continue
		}
		err := r.giveJob(ctx, head.ID)
		if _, damaged := errors.AsType[*store.Damage](err); err != nil && !damaged && !errors.Is(err, ErrNotFound) && !errors.Is(err, store.ErrDeleted) {
			return false, err
		}
	}
	return true, nil
}

// giveJob enqueues a job for what a conversation has to do by now, if nothing has happened in it for a while.
func (r *Runner) giveJob(ctx context.Context, conversation string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	switch ago := time.Now().Add(-sweepAge); {
	case l.isPaused() || l.now.held || l.touched.After(ago) || l.due().After(ago):
		return nil
	case l.next() != "":
		r.Log.Info("turn found that may have no job", "conversation", l.id, "turn", l.next())
		return r.enqueueAccepted(ctx, newJob(l, l.next(), payload{}))
	}
	return nil
}
