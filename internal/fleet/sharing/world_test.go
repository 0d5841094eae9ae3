package sharing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/fleet/sharing"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

var (
	errBusy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded: the prompt was 'secret'"}
	opus    = breaker.Scope{Model: "opus", Credential: "key"}
)

// request is one that a replica has sent to the upstream.
type request struct {
	at   time.Time
	from int
}

// world is a fleet before an upstream.
type world struct {
	network *fleet.Network
	started time.Time

	mu      sync.Mutex
	fault   *fault.Error // nil: it answers
	sick    map[int]bool // replicas whose way to the upstream is broken
	cut     func(from, to string) bool
	asked   []request
	replica []*replica
	luck    *rand.Rand
}

// replica is one of the fleet.
type replica struct {
	world   *world
	index   int
	sharing *sharing.Sharing
	breaker *breaker.Breaker
	leave   func() // has the upstream leave
}

// newWorld joins a given number of replicas by a network with delays of up to 20 ms.
func newWorld(t *testing.T, number int) *world {
	t.Helper()
	w := &world{sick: map[int]bool{}, luck: rand.New(rand.NewPCG(1, 2)), started: time.Now()}
	w.network = &fleet.Network{
		Delay:   func() time.Duration { return time.Duration(w.draw() * float64(20*time.Millisecond)) },
		Reaches: func(from, to string) bool { w.mu.Lock(); defer w.mu.Unlock(); return w.cut == nil || !w.cut(from, to) },
	}
	for i := range number {
		w.replica = append(w.replica, w.join(t, i))
	}
	time.Sleep(3 * time.Second) // they know one another
	return w
}

// join starts a replica.
func (w *world) join(t *testing.T, index int) *replica {
	t.Helper()
	id := fmt.Sprintf("r%02d", index)
	r := &replica{world: w, index: index, breaker: breaker.New("up")}
	r.sharing = share(t, fleet.Config{ID: id, Transport: w.network.Connect(id), Rand: w.draw})
	r.leave = r.sharing.Join("up", r.breaker)
	return r
}

// share has a replica of the fleet share, until the test ends.
func share(t *testing.T, c fleet.Config) *sharing.Sharing {
	t.Helper()
	c.Name = "main"
	f := fleet.Join(c)
	t.Cleanup(f.Close)
	s := sharing.Start(f)
	t.Cleanup(s.Close)
	return s
}

func (w *world) draw() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.luck.Float64()
}

// fail has the upstream fail from now on; nil: answer.
func (w *world) fail(f *fault.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
}

// partition cuts the network; nil: it is whole again.
func (w *world) partition(cut func(from, to string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// sicken breaks a replica's way to the upstream, or repairs it.
func (w *world) sicken(index int, sick bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sick[index] = sick
}

// try sends a request from a replica. A fault takes 100 ms, an answer a second.
func (r *replica) try(ctx context.Context, _ int) (string, error) {
	w := r.world
	w.mu.Lock()
	w.asked = append(w.asked, request{time.Now(), r.index})
	f := w.fault
	if w.sick[r.index] {
		f = &fault.Error{Kind: fault.Unavailable, Message: "connection refused"}
	}
	w.mu.Unlock()
	takes := time.Second
	if f != nil {
		takes = 100 * time.Millisecond
	}
	if err := retry.Sleep(ctx, takes); err != nil || f == nil {
		return "answer", err
	}
	clone := *f
	return "", &clone
}

// ask makes one call at a replica.
func (r *replica) ask(ctx context.Context) error {
	c := r.breaker.Caller(opus)
	defer c.Close()
	_, err := retry.Do(ctx, retry.Retrier{Policy: policy.Patient(), Breaker: c}, r.try)
	return err
}

// between returns the requests in a time.
func (w *world) between(from, to time.Time) (all []request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.asked {
		if !q.at.Before(from) && q.at.Before(to) {
			all = append(all, q)
		}
	}
	return all
}

// busiest returns the most requests of any second in a time.
func (w *world) busiest(from, to time.Time) (most int) {
	all := w.between(from, to)
	for i := range all {
		end, _ := slices.BinarySearchFunc(all, all[i].at.Add(time.Second), func(q request, t time.Time) int { return q.at.Compare(t) })
		most = max(most, end-i)
	}
	return most
}

// calls are calls that were made, each once at one replica.
type calls struct {
	ended sync.WaitGroup
	mu    sync.Mutex
	at    map[int][]time.Time // when those of a replica were answered
	errs  []error
}

// call makes a given number of calls at each replica at once.
func (w *world) call(ctx context.Context, each int) *calls {
	all := &calls{at: map[int][]time.Time{}}
	for _, r := range w.replica {
		for range each {
			all.ended.Go(func() {
				err := r.ask(ctx)
				all.mu.Lock()
				defer all.mu.Unlock()
				if err != nil {
					all.errs = append(all.errs, err)
					return
				}
				all.at[r.index] = append(all.at[r.index], time.Now())
			})
		}
	}
	return all
}
