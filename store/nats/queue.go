package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

const (
	fetchExpiry = 30 * time.Second // how long the servers keep a request for a job
	fetchDelay  = time.Second      // after a request that failed
)

// Enqueue implements [store.Queue].
func (b *backend) Enqueue(ctx context.Context, j store.Job) error {
	return annotate("enqueue job", b.publishDue(ctx, j))
}

// Schedule sets the schedule's header itself: the library's option truncates the
// instant to seconds, which is early.
func (b *backend) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	if !at.After(time.Now()) { // deleting the scheduled job might delete a newer one
		return annotate("schedule job", b.publishDue(ctx, j))
	}
	_, err := b.publishJob(ctx, j, scheduledPrefix, nats.Header{
		jetstream.ScheduleHeader:       {"@at " + timestamp(at)},
		jetstream.ScheduleTargetHeader: {subject(duePrefix, j.Turn)},
		jetstream.MsgRollup:            {jetstream.MsgRollupSubject},
	})
	return annotate("schedule job", err)
}

// publishDue stores a job that is due. Its id keeps it from being stored twice when it is sent twice. If it was a
// duplicate and is not there any more, it may have been lost: it is stored again, and delivered twice if it was done.
func (b *backend) publishDue(ctx context.Context, j store.Job) error {
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return err
	}
	defer done()
	for {
		ack, err := b.publishJob(ctx, j, duePrefix, nats.Header{jetstream.MsgIDHeader: {j.Turn + "/" + rand.Text()}})
		if err != nil || !ack.Duplicate {
			return err
		}
		if _, err := b.getFromLeader(ctx, jobStream, getRequest{Seq: ack.Sequence}); !errors.Is(err, errNoMessage) {
			return err
		}
	}
}

// publishJob stores a job in a message with a header.
func (b *backend) publishJob(ctx context.Context, j store.Job, prefix string, h nats.Header) (*jetstream.PubAck, error) {
	ctx, done, err := b.begin(ctx, limit.Job(j.Conversation, j.Turn, j.Body))
	if err != nil {
		return nil, err
	}
	defer done()
	data, err := marshal(j)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return b.publish(ctx, &nats.Msg{Subject: subject(prefix, j.Turn), Header: h, Data: data})
}

// Unschedule implements [store.Queue].
func (b *backend) Unschedule(ctx context.Context, turn string) error {
	ctx, done, err := b.begin(ctx, limit.ID("turn", turn))
	if err != nil {
		return err
	}
	defer done()
	var purged struct{}
	err = b.api(ctx, "STREAM.PURGE."+jobStream, map[string]string{"filter": subject(scheduledPrefix, turn)}, &purged)
	return annotate("unschedule job", err)
}

// takers are the calls of Take, in order. One request at a time fetches for all of them.
type takers struct {
	mu       sync.Mutex
	waiting  []chan *lease
	fetching bool
	reset    chan struct{} // ends the current request
}

// Take implements [store.Queue].
func (b *backend) Take(ctx context.Context) (store.Lease, error) {
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer done()
	ch := make(chan *lease, 1)
	b.addTaker(ch)
	select {
	case l := <-ch:
		return l, nil
	case <-ctx.Done():
		b.removeTaker(ch)
		return nil, context.Cause(ctx)
	}
}

// addTaker adds a call to the end of the line, and starts fetching.
func (b *backend) addTaker(ch chan *lease) {
	b.takers.mu.Lock()
	defer b.takers.mu.Unlock()
	b.takers.waiting = append(b.takers.waiting, ch)
	if !b.takers.fetching {
		b.takers.fetching = true
		b.goroutines.Go(b.fetchJobs)
	}
}

// removeTaker removes a call, and returns the job that it got meanwhile.
func (b *backend) removeTaker(ch chan *lease) {
	b.takers.mu.Lock()
	defer b.takers.mu.Unlock()
	if i := slices.Index(b.takers.waiting, ch); i >= 0 {
		b.takers.waiting = slices.Delete(b.takers.waiting, i, i+1)
		return
	}
	_ = (<-ch).Nack(0)
}

// fetchJobs fetches jobs as long as a call of Take waits.
func (b *backend) fetchJobs() {
	inbox, jobs := b.nc.NewInbox(), make(chan *nats.Msg, 16)
	sub, err := b.nc.ChanSubscribe(inbox, jobs)
	for b.keepFetching() {
		var m *nats.Msg
		if err == nil {
			m, err = b.fetchJob(inbox, jobs)
		}
		switch {
		case m != nil:
			b.deliver(m)
		case err != nil && !sleep(b.lifetime, fetchDelay):
		case err != nil:
			err = nil
		}
	}
	if sub != nil {
		_ = sub.Unsubscribe()
	}
	for len(jobs) > 0 {
		b.deliver(<-jobs)
	}
}

// keepFetching reports whether a call of Take waits; otherwise fetching ends.
func (b *backend) keepFetching() bool {
	b.takers.mu.Lock()
	defer b.takers.mu.Unlock()
	b.takers.fetching = len(b.takers.waiting) > 0 && b.lifetime.Err() == nil
	return b.takers.fetching
}

// fetchJob requests one job, and returns nil if none becomes due for a while. It needs an inbox of its own: a
// job arrives under its own subject, so the library cannot match it with a request.
func (b *backend) fetchJob(inbox string, jobs <-chan *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(b.lifetime, fetchExpiry+b.timeout/3)
	defer cancel()
	if _, err := b.link.await(ctx); err != nil {
		return nil, err
	}
	request := fmt.Appendf(nil, `{"batch":1,"expires":%d}`, fetchExpiry)
	if err := b.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+jobStream+"."+consumerName, inbox, request); err != nil {
		return nil, err
	}
	select {
	case m := <-jobs:
		return parseFetched(m)
	case <-b.takers.reset:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// parseFetched returns the answer to a request for a job; nil: no job is due.
func parseFetched(m *nats.Msg) (*nats.Msg, error) {
	switch m.Header.Get("Status") {
	case "":
		return m, nil
	case "404", "408":
		return nil, nil
	}
	return nil, statusError(m)
}

// deliver leases a job to the call of Take that has waited longest.
func (b *backend) deliver(m *nats.Msg) {
	if m.Header.Get("Status") != "" {
		return
	}
	l := &lease{b: b, reply: m.Reply}
	if err := json.Unmarshal(m.Data, &l.job); err != nil {
		_ = l.Ack() // no worker could ever decode it
		return
	}
	b.takers.mu.Lock()
	defer b.takers.mu.Unlock()
	if len(b.takers.waiting) == 0 {
		_ = l.Nack(0)
		return
	}
	b.takers.waiting[0] <- l
	b.takers.waiting = b.takers.waiting[1:]
}

// lease is a delivered job and the subject that takes its acknowledgements.
type lease struct {
	b     *backend
	reply string
	job   store.Job
}

// Job implements [store.Lease].
func (l *lease) Job() store.Job { return l.job }

// Extend implements [store.Lease].
func (l *lease) Extend() error { return l.respond("extend lease", "+WPI") }

// Nack implements [store.Lease].
func (l *lease) Nack(delay time.Duration) error {
	if delay <= 0 {
		return l.respond("nack job", "-NAK")
	}
	return l.respond("nack job", fmt.Sprintf(`-NAK {"delay":%d}`, delay))
}

// respond sends an acknowledgement without waiting for an answer.
func (l *lease) respond(operation, text string) error {
	if l.b.lifetime.Err() != nil {
		return store.ErrClosed
	}
	return l.b.notify(l.b.lifetime, operation, l.reply, []byte(text))
}

// Ack waits until the servers have received it.
func (l *lease) Ack() error {
	if l.b.lifetime.Err() != nil {
		return store.ErrClosed
	}
	_, err := l.b.request(l.b.lifetime, l.reply, []byte("+ACK"))
	return annotate("acknowledge job", err)
}
