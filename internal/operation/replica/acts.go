package replica

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
)

// acts are the commands on requests at other replicas. Its mutex is the replica's.
type acts struct {
	last    int64
	waiting map[int64]*act
}

// act is one of them.
type act struct {
	asked map[string]bool // that have not answered
	done  bool
	wake  chan struct{}
}

// actTime is how long the others may take to carry out a command.
const actTime = 2 * time.Second

// command is a message to carry out a command on a request.
type command struct {
	N  int64           `json:"n"`
	ID int64           `json:"id"`
	Do gateway.Command `json:"do"`
}

// acted is the answer.
type acted struct {
	N    int64 `json:"n"`
	Done bool  `json:"done"`
}

// ActAnywhere executes a command on one request that waits, at whichever replica has it. False: no request of that ID
// does, the command is unknown, or there is no fallback to skip to. An error names the replicas that have not answered:
// the request may be there.
func (r *Replica) ActAnywhere(ctx context.Context, id int64, do gateway.Command) (done bool, err error) {
	if done = r.Act(id, do); done || r.fleet.Number() == 1 {
		return done, nil
	}
	a := &act{asked: map[string]bool{}, wake: make(chan struct{}, 1)}
	for _, member := range r.fleet.Members() {
		if member != r.fleet.ID {
			a.asked[member] = true
		}
	}
	r.mu.Lock()
	if r.acts.waiting == nil {
		r.acts.waiting = map[int64]*act{}
	}
	r.acts.last++
	n := r.acts.last
	r.acts.waiting[n] = a
	r.mu.Unlock()
	if err = r.fleet.Send(actKind, command{n, id, do}); err == nil {
		_, err = r.fleet.Clock.SleepOrWake(ctx, actTime, a.wake)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.acts.waiting, n)
	switch {
	case a.done:
		return true, nil
	case err != nil:
		return false, fmt.Errorf("ask the other replicas: %w", err)
	case len(a.asked) > 0:
		var silent []string
		for member := range a.asked {
			silent = append(silent, member)
		}
		return false, fmt.Errorf("no answer in %v from %s, where the request may be", actTime, strings.Join(silent, ", "))
	}
	return false, nil
}

// heardAct carries out a command that another replica asks for.
func (r *Replica) heardAct(from string, c command) {
	_ = r.fleet.SendTo(from, actedKind, acted{c.N, r.Act(c.ID, c.Do)})
}

// heardActed notes an answer.
func (r *Replica) heardActed(from string, answer acted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.acts.waiting[answer.N]
	if a == nil {
		return
	}
	delete(a.asked, from)
	if a.done = a.done || answer.Done; !a.done && len(a.asked) > 0 {
		return
	}
	select {
	case a.wake <- struct{}{}:
		r.fleet.Clock.Woke(a.wake)
	default:
	}
}

// upstreamCommand is a message to carry out a command on an upstream.
type upstreamCommand struct {
	Upstream string          `json:"upstream"`
	Do       gateway.Command `json:"do"`
}

// ActOn executes a command on an upstream and all that wait for it, at all replicas; false: the upstream or the command
// is unknown here. A pause holds for replicas that start later as well.
func (r *Replica) ActOn(upstream string, do gateway.Command) bool {
	if !r.Gateway.ActOn(upstream, do) {
		return false
	}
	if do != gateway.Pause && do != gateway.Resume {
		_ = r.fleet.Send(actOnKind, upstreamCommand{upstream, do})
		return true
	}
	r.mu.Lock()
	told := r.pauses.command(upstream, do == gateway.Pause)
	r.mu.Unlock()
	_ = r.fleet.Send(pausesKind, told)
	return true
}

// heardActOn carries out a command that another replica asks for.
func (r *Replica) heardActOn(_ string, c upstreamCommand) { r.Gateway.ActOn(c.Upstream, c.Do) }
