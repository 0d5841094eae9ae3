package replica

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
)

const (
	idBits  = 24              // after 2^24 requests a replica may reach the numbers of another one
	actTime = 2 * time.Second // how long another replica may take to carry out a command
)

// first returns the high bits of the request numbers of a replica.
func first(replica string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(replica)) // it never fails
	return int64(h.Sum32()>>12) << idBits
}

// command asks another replica to act on a request or, without an answer, on an upstream.
type command struct {
	N        int64           `json:"n,omitzero"`
	ID       int64           `json:"id,omitzero"`
	Upstream string          `json:"upstream,omitzero"`
	Do       gateway.Command `json:"do"`
}

type acted struct {
	N    int64 `json:"n"`
	Done bool  `json:"done"`
}

type act struct {
	answered, done bool
	wake           chan struct{}
}

// ActAnywhere executes a command on one waiting request, at whichever replica has it. It returns false if no
// request of that ID waits, the command is unknown, or there is no fallback to skip to. An error names a replica
// that has not answered and may have the request.
func (r *Replica) ActAnywhere(ctx context.Context, id int64, do gateway.Command) (done bool, err error) {
	if r.Act(id, do) {
		return true, nil
	}
	for _, member := range r.fleet.Status().Members {
		if member != r.fleet.ID && first(member) == id>>idBits<<idBits {
			return r.actAt(ctx, member, id, do)
		}
	}
	return false, nil
}

func (r *Replica) actAt(ctx context.Context, member string, id int64, do gateway.Command) (done bool, err error) {
	a := &act{wake: make(chan struct{}, 1)}
	r.mu.Lock()
	r.acts++
	n := r.acts
	r.acting[n] = a
	r.mu.Unlock()
	if err = r.fleet.SendTo(member, actKind, command{N: n, ID: id, Do: do}); err == nil {
		_, err = r.fleet.Clock.SleepOrWake(ctx, actTime, a.wake)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.acting, n)
	switch {
	case a.answered:
		return a.done, nil
	case err == nil:
		err = fmt.Errorf("no answer in %v from %s, where the request may be", actTime, member)
	}
	return false, fmt.Errorf("ask the other replica: %w", err)
}

func (r *Replica) heardAct(from string, c command) {
	if c.Upstream != "" {
		r.Gateway.ActOn(c.Upstream, c.Do)
		return
	}
	_ = r.fleet.SendTo(from, actedKind, acted{c.N, r.Act(c.ID, c.Do)})
}

func (r *Replica) heardActed(_ string, answer acted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.acting[answer.N]; a != nil && !a.answered {
		a.answered, a.done = true, answer.Done
		a.wake <- struct{}{}
		r.fleet.Clock.Woke(a.wake)
	}
}

// ActOn executes a command on an upstream and all requests that wait for it, at all replicas; false: the upstream
// or the command is unknown here. A pause also applies to replicas that start later.
func (r *Replica) ActOn(upstream string, do gateway.Command) bool {
	r.pausing.Lock()
	defer r.pausing.Unlock()
	if !r.Gateway.ActOn(upstream, do) {
		return false
	}
	if do == gateway.Pause || do == gateway.Resume {
		r.pauses.Put(upstream, do == gateway.Pause, pauseLasts)
	} else {
		_ = r.fleet.Send(actKind, command{Upstream: upstream, Do: do})
	}
	return true
}

// pauseLasts is how long a replica that starts later, or was cut off, still learns of a pause.
const pauseLasts = 365 * 24 * time.Hour

func (r *Replica) heardPause(e fleet.Entry[bool]) {
	if !e.Gone {
		r.applyPause(e.Key)
	}
}

// keepPauses pauses upstreams that were configured since.
func (r *Replica) keepPauses() {
	for _, e := range r.pauses.All() {
		if e.Value {
			r.applyPause(e.Key)
		}
	}
}

func (r *Replica) applyPause(upstream string) {
	r.pausing.Lock()
	defer r.pausing.Unlock()
	if e, known := r.pauses.Get(upstream); known && e.Value {
		r.Gateway.ActOn(upstream, gateway.Pause)
	} else if known {
		r.Gateway.ActOn(upstream, gateway.Resume)
	}
}
