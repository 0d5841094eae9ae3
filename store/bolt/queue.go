package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// recheck is how long a call of Take waits for an instant at most: while a machine sleeps, timers do not advance.
const recheck = time.Minute

// queue is what is known of the jobs beside the file: a process that ends has no leases.
type queue struct {
	mu      sync.Mutex    // a transaction may begin while it is held, and never the other way round
	changed chan struct{} // closed and replaced when a job may be due earlier
	leases  map[string]*lease
	ended   bool
}

// notify has the calls of Take look again.
func (q *queue) notify() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.changed)
	q.changed = make(chan struct{})
}

// close ends all leases.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.leases {
		l.timer.Stop()
	}
	q.ended = true
}

// dueAt returns the instant in the key of a job.
func dueAt(key []byte) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(key))) }

// putJob stores a job that is due at an instant, and returns its key.
func putJob(f file, at time.Time, data []byte) ([]byte, error) {
	n, err := f.jobs.NextSequence()
	if err != nil {
		return nil, err
	}
	key := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())), n)
	return key, put(f.jobs, key, data)
}

// encodeJob returns the data of a valid job.
func encodeJob(j store.Job) ([]byte, error) {
	if err := limit.Job(j.Conversation, j.Turn, j.Body); err != nil {
		return nil, err
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	err := e.Encode(j)
	return data.Bytes(), err
}

// Enqueue implements [store.Queue].
func (s *boltStore) Enqueue(ctx context.Context, j store.Job) error {
	data, err := encodeJob(j)
	if err := s.begin(ctx, err); err != nil {
		return err
	}
	if err := s.checkSpace(); err != nil {
		return fmt.Errorf("enqueue job: %w", err)
	}
	return annotate("enqueue job", s.addDue(ctx, data))
}

// addDue stores a job that is due.
func (s *boltStore) addDue(ctx context.Context, data []byte) error {
	return s.write(ctx, func(f file) error {
		_, err := putJob(f, time.Now(), data)
		return err
	}, s.queue.notify)
}

// Schedule implements [store.Queue].
func (s *boltStore) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	data, err := encodeJob(j)
	if err := s.begin(ctx, err); err != nil {
		return err
	}
	if !at.After(time.Now()) {
		return annotate("schedule job", s.addDue(ctx, data))
	}
	return annotate("schedule job", s.write(ctx, func(f file) error {
		if _, err := unschedule(f, j.Turn); err != nil {
			return err
		}
		key, err := putJob(f, at, data)
		if err != nil {
			return err
		}
		return put(f.turns, []byte(j.Turn), key)
	}, s.queue.notify))
}

// unschedule removes the scheduled job of a turn, unless it is due by now, and reports whether there was one.
func unschedule(f file, turn string) (bool, error) {
	key, ok := get(f.turns, []byte(turn))
	if !ok || len(key) != 16 || !dueAt(key).After(time.Now()) {
		return false, nil
	}
	if err := f.jobs.Delete(key); err != nil {
		return false, err
	}
	return true, f.turns.Delete([]byte(turn))
}

// Unschedule implements [store.Queue].
func (s *boltStore) Unschedule(ctx context.Context, turn string) error {
	if err := s.begin(ctx, limit.ID("turn", turn)); err != nil {
		return err
	}
	return annotate("unschedule job", s.write(ctx, func(f file) error {
		found, err := unschedule(f, turn)
		if err == nil && !found {
			return errNothing
		}
		return err
	}, nil))
}

// Take implements [store.Queue].
func (s *boltStore) Take(ctx context.Context) (store.Lease, error) {
	for {
		if err := s.begin(ctx, nil); err != nil {
			return nil, err
		}
		l, wait, changed, err := s.leaseNext(ctx)
		if l != nil || err != nil {
			return l, annotate("take job", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-s.closed:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// leaseNext leases the job that has been due the longest. Without one it returns how long to wait for the next, and
// what is closed when that may have changed.
func (s *boltStore) leaseNext(ctx context.Context) (l store.Lease, wait time.Duration, changed <-chan struct{}, err error) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	var found *lease
	var lost [][]byte
	wait = recheck
	err = s.view(func(f file) error {
		c := f.jobs.Cursor()
		for key, value := c.First(); key != nil && found == nil; key, value = c.Next() {
			if ahead := time.Until(dueAt(key)); ahead > 0 {
				wait = min(ahead, recheck)
				break
			}
			if s.queue.leases[string(key)] != nil {
				continue
			}
			found = &lease{store: s, key: string(key)}
			if data, ok := unseal(key, value); !ok || json.Unmarshal(data, &found.job) != nil {
				found, lost = nil, append(lost, bytes.Clone(key))
			}
		}
		return nil
	})
	for _, key := range lost {
		s.dropJob(ctx, key)
	}
	if err != nil || found == nil || s.queue.ended {
		return nil, wait, s.queue.changed, err
	}
	s.queue.leases[found.key] = found
	found.timer = time.AfterFunc(s.config.Lease, found.release)
	return found, 0, nil, nil
}

// dropJob notes that a job was lost, and has it removed: no worker could ever decode it. Until then it is leased.
func (s *boltStore) dropJob(ctx context.Context, key []byte) {
	s.losses.add(store.Loss{Noticed: time.Now().UTC(), Jobs: true, Messages: 1})
	s.config.Log.ErrorContext(ctx, "a job in the store is damaged and was dropped")
	l := &lease{store: s, key: string(key)}
	l.timer = time.AfterFunc(s.config.Lease, l.release)
	s.queue.leases[l.key] = l
	s.writes.add(&write{do: l.remove, after: l.forget, done: make(chan struct{})})
}

// lease is a leased job, and the timer that ends its lease.
type lease struct {
	store *boltStore
	key   string
	job   store.Job
	timer *time.Timer
}

// release makes the job of a valid lease due again.
func (l *lease) release() {
	l.forget()
	l.store.queue.notify()
}

// forget removes the lease.
func (l *lease) forget() {
	q := &l.store.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.leases[l.key] == l {
		l.timer.Stop()
		delete(q.leases, l.key)
	}
}

// remove removes the job from the file.
func (l *lease) remove(f file) error {
	turn := []byte(l.job.Turn)
	if key, ok := get(f.turns, turn); len(turn) > 0 && ok && string(key) == l.key {
		if err := f.turns.Delete(turn); err != nil {
			return err
		}
	}
	return f.jobs.Delete([]byte(l.key))
}

// Job implements [store.Lease].
func (l *lease) Job() store.Job { return l.job }

// reset restarts the time of a valid lease.
func (l *lease) reset(d time.Duration) error {
	q := &l.store.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return store.ErrClosed
	}
	if q.leases[l.key] == l {
		l.timer.Reset(d)
	}
	return nil
}

// Extend implements [store.Lease].
func (l *lease) Extend() error { return l.reset(l.store.config.Lease) }

// Nack implements [store.Lease].
func (l *lease) Nack(delay time.Duration) error { return l.reset(max(delay, 0)) }

// Ack implements [store.Lease].
func (l *lease) Ack() error {
	return annotate("acknowledge job", l.store.write(context.Background(), l.remove, l.forget))
}
