package lab

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// simulation is a discrete-event simulation: its time advances to the next event when no task can run. It is
// the clock of packages retry and breaker. It runs tasks one at a time in a deterministic order, so the same
// seed produces the same run. It is not safe for concurrent use.
//
// A task is a coroutine (iter.Pull) that yields while it sleeps. Ten thousand of
// them cost ten thousand small stacks and no work for Go's scheduler.
type simulation struct {
	start    time.Time
	elapsed  time.Duration
	events   queue
	seq      uint64
	ready    []*task // tasks to resume, in order
	resumed  int     // how many of ready have been resumed
	sleepers map[<-chan struct{}]*task
	tasks    []*task
	stopped  bool
}

var errStopped = errors.New("the simulation has ended")

// newSimulation returns a simulation with an arbitrary start, which no figure depends on.
func newSimulation() *simulation {
	return &simulation{
		start:    time.Date(2026, time.November, 2, 18, 0, 0, 0, time.UTC),
		sleepers: map[<-chan struct{}]*task{},
	}
}

func (s *simulation) Now() time.Time { return s.start.Add(s.elapsed) }

type task struct {
	sim    *simulation
	ctx    context.Context // done when the simulation has ended
	cancel context.CancelCauseFunc
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	asleep context.Context // of the current sleep; nil: awake
	wakeUp event           // the end of the current sleep
	queued bool
}

type taskKey struct{}

// spawn adds a task, which runs after all ready tasks.
func (s *simulation) spawn(f func(*task)) {
	t := &task{sim: s}
	t.wakeUp = event{f: func() { s.enqueue(t) }, sim: s, index: -1}
	ctx, cancel := context.WithCancelCause(context.Background())
	t.ctx, t.cancel = context.WithValue(ctx, taskKey{}, t), cancel
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		f(t)
	})
	s.tasks = append(s.tasks, t)
	s.enqueue(t)
}

func (s *simulation) enqueue(t *task) {
	if !t.queued {
		t.queued = true
		s.ready = append(s.ready, t)
	}
}

const stepsPerCheck = 256

// run advances the simulation until no event is left, it is stopped, or ctx
// ends. All its tasks have ended when it returns.
func (s *simulation) run(ctx context.Context) error {
	defer s.close()
	for step := 0; ; step++ {
		if step%stepsPerCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case s.stopped:
			return nil
		case len(s.ready) > 0:
			s.resumeNext()
		case len(s.events) > 0:
			e := heap.Pop(&s.events).(*event)
			s.elapsed = e.at
			e.f()
		default:
			return nil
		}
	}
}

func (s *simulation) resumeNext() {
	t := s.ready[s.resumed]
	if s.resumed++; s.resumed == len(s.ready) {
		s.ready, s.resumed = s.ready[:0], 0
	}
	t.queued = false
	t.next()
}

func (s *simulation) close() {
	for _, t := range s.tasks {
		t.cancel(errStopped)
		t.stop()
	}
}

// SleepOrWake suspends the task of ctx until d has passed, wake is sent to, or ctx or the simulation ends.
func (s *simulation) SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if received(wake) {
		return true, nil
	}
	t := ctx.Value(taskKey{}).(*task)
	t.asleep = ctx
	if wake != nil {
		s.sleepers[wake] = t
	}
	if d < clock.Forever {
		t.wakeUp.Reset(d)
	}
	if !t.yield(struct{}{}) {
		t.cancel(errStopped)
	}
	t.asleep = nil
	t.wakeUp.Stop()
	if wake != nil {
		delete(s.sleepers, wake)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return received(wake), nil
}

// received reports whether a wake-up was pending, and takes it.
func received(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}

func (s *simulation) Woke(wake <-chan struct{}) {
	if t := s.sleepers[wake]; t != nil {
		s.enqueue(t)
	}
}

func (s *simulation) WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancelCause(ctx)
	timer := s.cancelAfter(ctx, end.Sub(s.Now()), func() { cancel(cause) })
	return deadline{bounded, end}, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// cancelAfter calls cancel after d, and wakes the task of ctx if its sleep was canceled.
func (s *simulation) cancelAfter(ctx context.Context, d time.Duration, cancel func()) clock.Timer {
	t := ctx.Value(taskKey{}).(*task)
	return s.AfterFunc(d, func() {
		cancel()
		if t.asleep != nil && t.asleep.Err() != nil {
			s.enqueue(t)
		}
	})
}

type deadline struct {
	context.Context
	end time.Time
}

// Deadline returns the earlier of its own deadline and its parent's.
func (d deadline) Deadline() (time.Time, bool) {
	if end, ok := d.Context.Deadline(); ok && end.Before(d.end) {
		return end, true
	}
	return d.end, true
}

// event is a function to call at a simulated time. Events of the same time keep the order in which they were scheduled.
type event struct {
	f     func()
	sim   *simulation
	at    time.Duration // since the simulation's start
	seq   uint64
	index int // in the queue; -1: not scheduled
}

func (s *simulation) AfterFunc(d time.Duration, f func()) clock.Timer {
	e := &event{f: f, sim: s, index: -1}
	e.Reset(d)
	return e
}

// Stop cancels the event. It reports whether the event was scheduled.
func (e *event) Stop() bool {
	if e.index < 0 {
		return false
	}
	heap.Remove(&e.sim.events, e.index)
	return true
}

// Reset schedules the event d from now, also if it has happened before. It
// reports whether the event was scheduled.
func (e *event) Reset(d time.Duration) bool {
	was := e.Stop()
	s := e.sim
	s.seq++
	e.at, e.seq = s.elapsed+min(max(d, 0), clock.Forever-s.elapsed), s.seq
	heap.Push(&s.events, e)
	return was
}

// queue is a heap of the scheduled events; the next one is first.
type queue []*event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(e any) {
	e.(*event).index = len(*q)
	*q = append(*q, e.(*event))
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last], *q, e.index = nil, (*q)[:last], -1
	return e
}
