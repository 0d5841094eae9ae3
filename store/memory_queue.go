package store

import (
	"context"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// memoryJob is a job in the queue: scheduled, due or leased.
type memoryJob struct {
	Job
	timer *time.Timer // of a scheduled one
	acked bool
}

// lockFor locks the store for a valid job, and returns its copy.
func (m *memory) lockFor(ctx context.Context, j Job) (*memoryJob, error) {
	j.Body = slices.Clone(j.Body)
	return &memoryJob{Job: j}, m.lock(ctx, limit.Job(j.Conversation, j.Turn, j.Body))
}

// Enqueue implements [Queue].
func (m *memory) Enqueue(ctx context.Context, job Job) error {
	j, err := m.lockFor(ctx, job)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.makeDue(j)
	return nil
}

// makeDue makes a job available to Take.
func (m *memory) makeDue(j *memoryJob) {
	m.due = append(m.due, j)
	close(m.arrived)
	m.arrived = make(chan struct{})
}

// Schedule implements [Queue].
func (m *memory) Schedule(ctx context.Context, job Job, at time.Time) error {
	j, err := m.lockFor(ctx, job)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	delay := time.Until(at)
	if delay <= 0 {
		m.makeDue(j)
		return nil
	}
	m.unschedule(j.Turn)
	j.timer = time.AfterFunc(delay, func() { m.fire(j) })
	m.scheduled[j.Turn] = j
	return nil
}

// fire makes a scheduled job due unless it was replaced.
func (m *memory) fire(j *memoryJob) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.scheduled[j.Turn] == j {
		delete(m.scheduled, j.Turn)
		m.makeDue(j)
	}
}

func (m *memory) unschedule(turn string) {
	if j := m.scheduled[turn]; j != nil {
		j.timer.Stop()
		delete(m.scheduled, turn)
	}
}

// Unschedule implements [Queue].
func (m *memory) Unschedule(ctx context.Context, turn string) error {
	if err := m.lock(ctx, limit.ID("turn", turn)); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.unschedule(turn)
	return nil
}

// Take implements [Queue].
func (m *memory) Take(ctx context.Context) (Lease, error) {
	for {
		if err := m.lock(ctx, nil); err != nil {
			return nil, err
		}
		l, arrived := m.leaseNext(), m.arrived
		m.mu.Unlock()
		if l != nil {
			return l, nil
		}
		select {
		case <-arrived:
		case <-m.closed:
		case <-ctx.Done():
		}
	}
}

// leaseNext leases the job that has been due the longest; nil: none is due.
func (m *memory) leaseNext() *memoryLease {
	for len(m.due) > 0 {
		j := m.due[0]
		m.due = m.due[1:]
		if !j.acked {
			return m.lease(j)
		}
	}
	return nil
}

// memoryLease is a lease and the timer that expires it.
type memoryLease struct {
	m     *memory
	job   *memoryJob
	timer *time.Timer
}

func (m *memory) lease(j *memoryJob) *memoryLease {
	l := &memoryLease{m: m, job: j}
	m.leases[l] = true
	l.timer = time.AfterFunc(limit.Lease, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.release(l)
	})
	return l
}

// release makes the job of a valid lease due again.
func (m *memory) release(l *memoryLease) {
	valid := m.leases[l]
	delete(m.leases, l)
	if valid && !l.job.acked {
		m.makeDue(l.job)
	}
}

// Job implements [Lease].
func (l *memoryLease) Job() Job { return l.job.Job }

// Extend implements [Lease].
func (l *memoryLease) Extend() error {
	return l.locked(func() {
		if l.m.leases[l] {
			l.timer.Reset(limit.Lease)
		}
	})
}

// Ack implements [Lease].
func (l *memoryLease) Ack() error {
	return l.locked(func() {
		l.job.acked = true
		l.timer.Stop()
		delete(l.m.leases, l)
	})
}

// Nack implements [Lease].
func (l *memoryLease) Nack(delay time.Duration) error {
	return l.locked(func() {
		switch {
		case delay <= 0:
			l.timer.Stop()
			l.m.release(l)
		case l.m.leases[l]:
			l.timer.Reset(delay)
		}
	})
}

// locked calls do with the store locked, if it is open.
func (l *memoryLease) locked(do func()) error {
	if err := l.m.lock(context.Background(), nil); err != nil {
		return err
	}
	defer l.m.mu.Unlock()
	do()
	return nil
}
