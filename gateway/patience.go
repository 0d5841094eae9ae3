package gateway

import (
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// A client that leaves after minutes in a wait, and comes back, has a limit on the whole call. It leaves again
// when it has stayed as long, and gives up after some stays: Qwen Code after three of 15 minutes, the SDKs of
// OpenAI and Anthropic after three of 10. A wait of half an hour would outlast them. Shorter stays are those of
// users and of lost connections, which come back as often as they like. A limit of five minutes is common, and as
// measured here a stay of that length may end a little before it.
const (
	triesInAStay = 3
	shortestStay = 4*time.Minute + 30*time.Second
)

// triesOfASide is how many waits fit into the time for which an agent tries a side request: it asks that often too.
const triesOfASide = 6

// longestWait returns the bound of the waits of a client that stayed that long; 0: none.
func longestWait(stayed time.Duration) time.Duration {
	if stayed < shortestStay {
		return 0
	}
	return stayed / triesInAStay
}

// patience returns the policy of the tries at the upstream. It bounds the waits of a client that has come back,
// if nothing bounds their number.
func (s *sharedRequest) patience() policy.Policy {
	p := *s.failover.settings.policy
	longest := longestWait(s.leader.stayed)
	if s.leader.info.Side != "" {
		longest = s.leader.maxWait / triesOfASide
	}
	if longest > 0 && p.Retries == policy.Unlimited {
		p.Backoff = p.Backoff.AtMost(longest)
	}
	if s.bounded() {
		p.MaxWait = s.maxWait
	}
	if most := s.leader.maxWait; most > 0 && (p.Quota.Max == 0 || p.Quota.Max > most) {
		p.Quota.Max = most
	}
	return p
}

// shortened returns the wait that a client left after a stay, as it continues now that the client is back.
func shortened(w policy.Wait, stayed time.Duration) policy.Wait {
	longest := longestWait(stayed)
	early := time.Until(w.Due) - longest
	if longest > 0 && early > 0 && !w.Verdict.Hinted && w.Limit == policy.Unlimited {
		w.Due = w.Due.Add(-early)
		w.Verdict.Wait -= early
		w.Run.Slept -= early
	}
	return w
}

// waitLeft returns the longest wait that another gateway may have the request wait for; 0: there is no limit.
func (s *sharedRequest) waitLeft() time.Duration {
	most := s.patience().MaxWait
	if most == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(most-s.last.Run.Slept, time.Millisecond)
}
