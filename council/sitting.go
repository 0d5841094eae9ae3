package council

import (
	"context"
	"slices"
	"sync"
	"time"
)

// heartbeat is how often a member is heard of that does not change.
const heartbeat = 30 * time.Second

// sitting is one run of a council.
type sitting struct {
	Council
	question string
	began    time.Time
	cut      context.CancelCauseFunc // ends the members that are under way

	mu         sync.Mutex
	voices     []Voice
	aggregator Voice
	grace      *time.Timer // nil: the quorum is not there yet
}

func (c Council) seat(question string) *sitting {
	s := &sitting{Council: c, question: question, began: time.Now(), voices: make([]Voice, len(c.Members))}
	for i, m := range c.Members {
		s.voices[i] = Voice{Name: m.Model.Name(), Left: c.Budget}
	}
	s.aggregator.Name = c.Aggregator.Model.Name()
	return s
}

// opened gives the first event.
func (s *sitting) opened() Opened {
	o := Opened{Aggregator: s.aggregator.Name, Terms: s.Council}
	for _, v := range s.voices {
		o.Members = append(o.Members, v.Name)
	}
	return o
}

// tell tells whoever watches.
func (s *sitting) tell(e Event) {
	if s.OnEvent != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.OnEvent(e)
	}
}

// hear asks the members side by side until each has ended.
func (s *sitting) hear(ctx context.Context) {
	ctx, release := context.WithTimeoutCause(ctx, s.Cap-s.AggregatorBudget, errCap)
	defer release()
	ctx, s.cut = context.WithCancelCause(ctx)
	defer s.cut(nil)
	ended := make(chan struct{})
	var beating, members sync.WaitGroup
	beating.Go(func() { s.beat(ended) })
	for i := range s.voices {
		members.Go(func() { s.member(i).sit(ctx) })
	}
	members.Wait()
	if s.grace != nil {
		s.grace.Stop()
	}
	close(ended)
	beating.Wait()
}

// beat lets members be heard of now and then.
func (s *sitting) beat(ended <-chan struct{}) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			s.stillThere()
		}
	}
}

func (s *sitting) stillThere() {
	if s.OnEvent == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.voices {
		if v := &s.voices[i]; !v.State.ended() {
			s.age(v)
			s.OnEvent(Changed{Member: i, Voice: *v, Still: true})
		}
	}
}

// age takes the clock into a voice.
func (s *sitting) age(v *Voice) { *v = v.After(time.Since(s.began) - v.Took) }

// change changes where a member stands.
func (s *sitting) change(i int, do func(*Voice)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &s.voices[i]
	v.Wait = 0
	s.age(v)
	do(v)
	if s.OnEvent != nil {
		s.OnEvent(Changed{Member: i, Voice: *v})
	}
	if v.State == Answered && s.grace == nil && count(s.voices, Answered) >= s.Quorum {
		s.quorate()
	}
}

// quorate begins the grace of those that have not ended, if there are any.
func (s *sitting) quorate() {
	under := false
	for i := range s.voices {
		if v := &s.voices[i]; !v.State.ended() {
			under = true
			s.age(v)
		}
	}
	if !under {
		return
	}
	s.grace = time.AfterFunc(s.Grace, func() { s.cut(errGrace) })
	if s.OnEvent != nil {
		capped := s.Cap - s.AggregatorBudget - time.Since(s.began)
		s.OnEvent(Quorate{Members: slices.Clone(s.voices), Grace: min(s.Grace, capped)})
	}
}

// verdict tells whether there is something to aggregate.
func (s *sitting) verdict(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case count(s.voices, Answered) < s.Quorum:
		return &Shortfall{Members: s.voices, Quorum: s.Quorum}
	}
	return nil
}

// result gives what has come of it.
func (s *sitting) result() Result {
	return Result{Members: s.voices, Aggregator: s.aggregator, Took: time.Since(s.began)}
}
