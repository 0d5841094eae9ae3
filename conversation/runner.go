// Package conversation runs durable conversations. It accepts the input of users, has one worker at a time
// work on it, and seals every accepted turn, even if the worker, the process or the machine fails.
//
// A conversation's log is its only state. A worker claims a turn by appending its epoch and records events as
// it goes. A turn with a long wait is parked: no worker holds it, and any runner resumes it when it is due.
// Appends are fenced by the end of the log, so that a worker that was thought dead can do no harm.
//
// The package works with any [store.Store]. Config.Agent returns the agent, and
// with it the model and the tools, of a conversation.
//
// It has many files because log, queue, worker, waits and outages share one runner and its locks; none of them
// is of use without the others.
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

// Config is what a Runner works with.
type Config struct {
	Store store.Store

	// Agent returns the agent for the turns of a conversation. Its ctx lasts as long as the agent is used. The
	// runner sets the agent's Persist, Steering, SpreadWait, Breaker, Prior and OnReport, and the Start and Sleep
	// of its Retry. An agent without Approve leaves the calls that the user is asked about to [Runner.Answer].
	Agent func(context.Context, Settings) (agent.Agent, error)

	Breakers   *breaker.Set         // of the providers; nil: the runner has a set of its own
	Name       string               // of this runner, in the logs of conversations; "": none
	Workers    int                  // turns in progress at the same time, without parked ones and those at a paused breaker; 0: 64
	ParkAfter  time.Duration        // a wait up to this stays with its worker; 0: 30 s
	Supervisor func() policy.Policy // returns when a turn is taken up again after its worker failed; nil: policy.Worker
	OnEvent    func(Event)          // called by the workers, maybe several at once; nil: none
	Log        *slog.Logger         // nil: none
}

// Runner works on conversations. Its methods may run concurrently. Several runners,
// in one process or in many, may share a store.
type Runner struct {
	Config
	cache   cache
	id      string // of this runner, among those that share the store
	outages outages
	parked  parkedTurns
	trials  trials

	recovered chan string // upstreams that other callers have found to answer again

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

// Errors of a worker that comes too late.
var (
	errElsewhere = errors.New("another worker has the turn")
	errOver      = errors.New("the turn has been sealed, or taken back")
	errChanged   = errors.New("what steers the turn has been changed")
)

// New returns a runner. It does nothing by itself until Run.
func New(c Config) *Runner {
	c.Workers = cmp.Or(c.Workers, 64)
	c.ParkAfter = cmp.Or(c.ParkAfter, 30*time.Second)
	if c.Supervisor == nil {
		c.Supervisor = policy.Worker
	}
	if c.Breakers == nil {
		c.Breakers = &breaker.Set{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{
		Config: c, id: rand.Text(), recovered: make(chan string, recoveredBound),
		cache: cache{logs: map[string]*log{}}, outages: outages{entries: map[string]store.Entry{}}, trials: trials{now: map[string]bool{}},
		parked: parkedTurns{turns: map[string]map[string]string{}},
		waits:  waits{turns: map[string]*packedWait{}, at: map[string]int{}},
	}
}

// Run works on turns until ctx ends. It then hands back the turns in progress, which
// any runner may resume, and returns.
func (r *Runner) Run(ctx context.Context) error {
	free := make(chan struct{}, r.Workers)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		if err := r.healLosses(ctx); err != nil && ctx.Err() == nil {
			r.Log.Error("search for lost records failed", "error", err)
		}
	})
	all.Go(func() { r.follow(ctx, r.followOutages, "outage feed lost, using local detection") })
	all.Go(func() { r.follow(ctx, r.sweepAgain, "search for turns without a job failed") })
	all.Go(func() { r.follow(ctx, r.followUpstreams, "recovery feed lost, parked turns resume when they are due") })
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		claim, err := r.Store.Take(ctx)
		if err != nil {
			<-free
			if ctx.Err() != nil {
				return nil
			}
			r.Log.Error("claim next turn failed", "error", err)
			if retry.Sleep(ctx, time.Second) != nil {
				return nil
			}
			continue
		}
		leave := sync.OnceFunc(func() { <-free })
		all.Go(func() {
			defer leave()
			r.serve(context.WithValue(ctx, leaveKey{}, leave), claim)
		})
	}
}

// leaveKey is that of what frees the place of a worker among [Config.Workers], once.
type leaveKey struct{}

// follow follows a feed of the store until ctx ends or the store is closed, again after a failure, which is
// logged.
func (r *Runner) follow(ctx context.Context, feed func(context.Context) error, lost string) {
	for {
		err := feed(ctx)
		if ctx.Err() != nil || err == nil || errors.Is(err, store.ErrClosed) {
			return
		}
		r.Log.Warn(lost, "error", err)
		if retry.Sleep(ctx, feedDelay) != nil {
			return
		}
	}
}

// serve executes a leased job.
func (r *Runner) serve(ctx context.Context, c store.Lease) {
	handled, done := context.WithCancel(context.WithoutCancel(ctx))
	var beat sync.WaitGroup
	beat.Go(func() {
		for retry.Sleep(handled, extendInterval) == nil {
			_ = c.Extend() // if it is lost, the fence tells
		}
	})
	err := r.handle(ctx, c.Job())
	done()
	beat.Wait()
	_, damaged := errors.AsType[*store.Damage](err)
	switch {
	case err == nil:
		err = c.Ack()
	case errors.Is(err, retry.ErrParked): // handed back
		err = c.Nack(0)
	case errors.Is(err, errElsewhere):
		return // it is that worker's job by now, and for it to be done with
	case errors.Is(err, store.ErrDeleted):
		err = c.Ack() // the conversation is gone
	case damaged:
		r.Log.Error("turn of a damaged conversation put off", "conversation", c.Job().Conversation, "error", err)
		err = c.Nack(damagedDelay)
	default:
		r.Log.Error("turn failed", "conversation", c.Job().Conversation, "turn", c.Job().Turn, "error", err)
		err = c.Nack(nackDelay)
	}
	if err != nil {
		r.Log.Warn("job not acknowledged", "error", err)
	}
}

const (
	nackDelay      = 3 * time.Second  // until a turn is tried again whose log could not be read or written
	damagedDelay   = time.Minute      // the same, where the log is damaged
	extendInterval = 10 * time.Second // how often a lease is extended
	feedDelay      = 5 * time.Second  // until a feed that was lost is followed again
)
