// Package conversation keeps conversations going: it takes what users say, has it
// worked on by one worker at a time, and sees to it that every turn that was
// accepted is sealed, whatever becomes of the worker, the process or the
// machine.
//
// All that has happened is in the conversation's log. A worker takes a turn by
// appending its epoch, keeps what must last as it goes, and parks the turn where
// the wait is long: then no worker holds it, and any runner that is there when
// the wait is over resumes it. Appends are fenced by the end of the log, so that a worker that
// was thought dead can do no harm.
//
// The package knows stores, not what they are made of, and agents, not
// providers: what a conversation's world is, Config.World says.
package conversation

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// Config says what a Host works with.
type Config struct {
	Store store.Store

	// Agent returns what the turns of a conversation need of the outside. Its Persist,
	// Steering, Spread, Before and the Start and Wait of its Retry are the runner's.
	Agent func(context.Context, Settings) (agent.Agent, error)

	Breakers   *breaker.Set  // what those who are at one provider share while it fails; nil: the runner has a set of its own
	Name       string        // of this runner, in the logs of conversations; "": none
	Workers    int           // turns that are worked on at the same time; 0: 64. Turns that wait for long are not among them
	ParkAfter  time.Duration // a wait up to this stays with its worker; 0: 30 s
	Supervisor policy.Policy // when a turn is taken up again after its worker failed; the zero Policy: policy.Worker()
	OnEvent    func(Event)   // told by the workers of what happens between turns and providers; nil: none
	Log        *slog.Logger  // nil: nothing
}

// Runner works on conversations. Its methods may run concurrently. Several runners,
// in one process or in many, may share a store.
type Runner struct {
	Config
	cache   cache
	id      string // of this runner, among those that share the store
	outages outages
	parked  parkedTurns

	waits  waits
	recent recent
}

// The errors of requests that cannot be met.
var (
	ErrNotFound  = errors.New("no such conversation")
	ErrExists    = errors.New("there is one of this id already")   // a conversation
	ErrNotQueued = errors.New("no such input waits")               // it has its turn, or is gone
	ErrIdle      = errors.New("no turn is in progress")            // or it is another one
	ErrStopped   = errors.New("the turn has been stopped already") // and comes to its end
)

// errAborted is the cause of a turn that a user has stopped.
var errAborted = errors.New("stopped by the user")

// What a worker is told that comes too late.
var (
	errElsewhere = errors.New("another worker has the turn")
	errOver      = errors.New("the turn has been sealed, or taken back")
	errChanged   = errors.New("what steers the turn has been changed")
)

// New returns a runner. It does nothing by itself until Run.
func New(c Config) *Runner {
	c.Workers = cmp.Or(c.Workers, 64)
	c.ParkAfter = cmp.Or(c.ParkAfter, 30*time.Second)
	if c.Supervisor.Retries == 0 {
		c.Supervisor = policy.Worker()
	}
	if c.Breakers == nil {
		c.Breakers = &breaker.Set{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{Config: c, id: rand.Text()}
}

// Run works on turns until ctx ends. It then hands back what is in progress, to
// go on here or elsewhere later, and returns when all of it is handed back.
func (h *Runner) Run(ctx context.Context) error {
	free := make(chan struct{}, h.Workers)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		if err := h.followOutages(ctx); err != nil && ctx.Err() == nil {
			h.Log.Warn("outage feed lost, using local detection", "error", err)
		}
	})
	all.Go(func() {
		if err := h.followUpstreams(ctx); err != nil && ctx.Err() == nil {
			h.Log.Warn("recovery feed lost, parked turns resume when they are due", "error", err)
		}
	})
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		claim, err := h.Store.Take(ctx)
		if err != nil {
			<-free
			if ctx.Err() != nil {
				return nil
			}
			h.Log.Error("taking a turn", "error", err)
			if retry.Sleep(ctx, time.Second) != nil {
				return nil
			}
			continue
		}
		all.Go(func() {
			defer func() { <-free }()
			h.serve(ctx, claim)
		})
	}
}

// serve does what a job says.
func (h *Runner) serve(ctx context.Context, c store.Lease) {
	done := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() { extendLease(c, done) })
	err := h.handle(ctx, c.Job())
	close(done)
	beat.Wait()
	switch {
	case err == nil:
		err = c.Ack()
	case errors.Is(err, retry.ErrParked): // handed back
		err = c.Nack(0)
	case errors.Is(err, errElsewhere):
		return // it is that worker's job by now, and for it to be done with
	case errors.Is(err, store.ErrDeleted):
		err = c.Ack() // the conversation is gone
	default:
		h.Log.Error("working on a turn", "conversation", c.Job().Conversation, "turn", c.Job().Turn, "error", err)
		err = c.Nack(nackDelay)
	}
	if err != nil {
		h.Log.Warn("answering a ticket", "error", err)
	}
}

const (
	nackDelay      = 3 * time.Second  // until a turn is tried again whose log could not be read or written
	extendInterval = 10 * time.Second // how often a claim is renewed
)

// extendLease says every now and then that a claim is being worked on.
func extendLease(c store.Lease, done <-chan struct{}) {
	tick := time.NewTicker(extendInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			_ = c.Extend() // if it is lost, the fence tells
		}
	}
}
