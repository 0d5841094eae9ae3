package replica

import (
	"maps"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
)

// pauseEvery is how often the pauses are told while there is one, for replicas that have missed it.
const pauseEvery = 2 * time.Second

// pause is whether an upstream is paused in the fleet, and how often that was commanded. The latest command holds
// whatever the clocks say; of two commands at once in a fleet that is cut in two, the pause.
type pause struct {
	Paused   bool  `json:"paused"`
	Commands int64 `json:"commands"`
}

// overrules reports whether a pause holds in place of another one.
func (p pause) overrules(other pause) bool {
	return p.Commands > other.Commands || p.Commands == other.Commands && p.Paused
}

// command returns the command that has p hold at a gateway.
func (p pause) command() gateway.Command {
	if p.Paused {
		return gateway.Pause
	}
	return gateway.Resume
}

// pauses are the upstreams for which there was a command, by their names. Its mutex is the replica's.
type pauses struct {
	all  map[string]pause
	told time.Time
}

// command notes a command, and returns what is to be told of it.
func (p *pauses) command(upstream string, paused bool) map[string]pause {
	next := pause{Paused: paused, Commands: p.all[upstream].Commands + 1}
	p.set(upstream, next)
	return map[string]pause{upstream: next}
}

func (p *pauses) set(upstream string, to pause) {
	if p.all == nil {
		p.all = map[string]pause{}
	}
	p.all[upstream] = to
}

// due returns what is to be told again; nil: nothing.
func (p *pauses) due(now time.Time) map[string]pause {
	if now.Sub(p.told) < pauseEvery {
		return nil
	}
	for _, one := range p.all {
		if one.Paused {
			p.told = now
			return maps.Clone(p.all)
		}
	}
	return nil
}

// heardPauses pauses and resumes what another replica says, and tells it which of that is outdated.
func (r *Replica) heardPauses(from string, told map[string]pause) {
	newer := map[string]pause{}
	for upstream, theirs := range told {
		r.mu.Lock()
		ours, known := r.pauses.all[upstream]
		r.mu.Unlock()
		switch {
		case known && !theirs.overrules(ours):
			if ours != theirs {
				newer[upstream] = ours
			}
		case r.Gateway.ActOn(upstream, theirs.command()): // also if it is known: the upstream may be another one of that name
			r.mu.Lock()
			r.pauses.set(upstream, theirs)
			r.mu.Unlock()
		}
	}
	if len(newer) > 0 {
		_ = r.fleet.SendTo(from, pausesKind, newer)
	}
}
