package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/fleet/sharing"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// replica is one of the gateways that share the callers.
type replica struct {
	clock   clock.Clock
	breaker *breaker.Breaker // nil: each caller is on its own
	limits  *ratelimit.Table // nil: limits are not learned
	fleet   *fleet.Fleet     // nil: no fleet
	sharing *sharing.Sharing
}

// skewed is the simulated time of a wrong clock.
type skewed struct {
	*simulation
	by time.Duration
}

func (s skewed) Now() time.Time { return s.simulation.Now().Add(s.by) }

func (s skewed) WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc) {
	return s.simulation.WithDeadline(ctx, end.Add(-s.by), cause)
}

func (r *run) startReplicas() {
	n := max(1, r.Fleet.Number)
	network := r.network()
	for i := range n {
		one := &replica{clock: r.sim}
		if r.Fleet.Skew > 0 {
			one.clock = skewed{r.sim, r.Fleet.Skew * time.Duration(i) / time.Duration(n-1)}
		}
		if r.strategy.Admission {
			one.limits = &ratelimit.Table{Clock: one.clock}
		}
		r.replicas = append(r.replicas, one)
		if !r.strategy.SharesBreaker {
			continue
		}
		one.breaker = breaker.New("lab")
		one.breaker.Clock = one.clock
		if r.strategy.Fleet && n > 1 {
			one.join(replicaID(i), network, rand.New(rand.NewPCG(r.Seed, 1<<40+uint64(i))))
		}
	}
}

func (one *replica) join(id string, network *fleet.Network, luck *rand.Rand) {
	one.fleet = fleet.Join(fleet.Config{Name: "lab", ID: id, Transport: network.Connect(id), Clock: one.clock, Rand: luck.Float64})
	one.sharing = sharing.Start(one.fleet)
	one.sharing.Join("lab", one.breaker)
	if one.limits != nil {
		one.sharing.JoinLimits("lab", "lab", one.limits)
	}
}

// closeReplicas stops what would run without callers.
func (r *run) closeReplicas() {
	for _, one := range r.replicas {
		if one.fleet != nil {
			one.sharing.Close()
			one.fleet.Close()
		}
	}
}

// replicaID names the gateway of an index. The names sort like the indexes.
func replicaID(i int) string { return fmt.Sprintf("r%02d", i) }

func (r *run) network() *fleet.Network {
	luck := rand.New(rand.NewPCG(r.Seed, 1<<41))
	return &fleet.Network{
		Clock:   r.sim,
		Delay:   func() time.Duration { return time.Duration((0.5 + luck.Float64()) * float64(r.Fleet.Delay)) },
		Reaches: r.reaches,
	}
}

func (r *run) reaches(from, to string) bool {
	for _, p := range r.Fleet.Partitions {
		first := replicaID(p.Away)
		if r.sim.elapsed >= p.From && r.sim.elapsed < p.From+p.For && (from < first) != (to < first) {
			return false
		}
	}
	return true
}
