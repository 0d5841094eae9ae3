package gateway

import (
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
)

// What is known of a shared request at a moment: where it is, how often it was tried, how long it has waited.

// overall returns the last wait with the failed tries at all upstreams. mu is
// held, or the caller is the leader.
func (s *sharedRequest) overall() policy.Wait {
	w := s.last
	w.Run.Tries += s.triesBefore
	return w
}

// where returns where the request is.
func (s *sharedRequest) where() destination {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// soFar is overall with the last wait, or what has passed of it, in Waited. mu is held.
func (s *sharedRequest) soFar() policy.Wait {
	w := s.overall()
	if s.state == stateWaiting {
		w.Waited += sinceWaitBegan(w)
	} else {
		w.Waited += s.slept
	}
	return w
}

// upstreamName returns the name of the upstream where the request is.
func (s *sharedRequest) upstreamName() string { return s.where().Name }

// name returns the model that is asked for there, as events have it.
func (s *sharedRequest) name() llm.Name {
	return llm.Name{Provider: s.leader.info.API, Model: s.where().model}
}

func (s *sharedRequest) setState(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// waitEnded notes the end of a wait, which a try follows.
func (s *sharedRequest) waitEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.skipsTo, s.skip, s.slept = stateTrying, "", nil, sinceWaitBegan(s.last)
	for _, c := range s.calls {
		c.keepalive.tries()
	}
}

func (s *sharedRequest) setLast(w policy.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.slept = w, 0
}

// gaveUp reports whether the request has ended without an answer.
func (s *sharedRequest) gaveUp() bool { return s.last.Verdict.Stop != "" }

// sinceWaitBegan returns for how long a wait has lasted; 0: none has begun.
func sinceWaitBegan(w policy.Wait) time.Duration {
	if w.Due.IsZero() {
		return 0
	}
	return time.Since(w.Due.Add(-w.Verdict.Wait))
}
