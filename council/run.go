package council

import (
	"context"
	"slices"
	"sync"
	"time"
)

// reportEvery is the time between two events of a member that does not change.
const reportEvery = 30 * time.Second

// run is one run of a council.
type run struct {
	Council
	question string
	began    time.Time
	cut      context.CancelCauseFunc // ends the members in progress

	mu         sync.Mutex
	members    []Member
	aggregator Member
	grace      *time.Timer // nil: there is no quorum so far
}

func (c Council) newRun(question string) *run {
	s := &run{Council: c, question: question, began: time.Now(), members: make([]Member, len(c.Members))}
	for i, m := range c.Members {
		s.members[i] = Member{Index: i, Name: m.Model.Name(), Left: c.Budget}
	}
	s.aggregator.Name = c.Aggregator.Model.Name()
	if c.OnEvent == nil {
		s.OnEvent = func(Event) {}
	}
	return s
}

// emit calls OnEvent.
func (r *run) emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.OnEvent(e)
}

// askMembers asks the members in parallel until each has ended.
func (r *run) askMembers(ctx context.Context) {
	ctx, release := context.WithTimeoutCause(ctx, r.Cap-r.AggregatorBudget, errCap)
	defer release()
	ctx, r.cut = context.WithCancelCause(ctx)
	defer r.cut(nil)
	ended := make(chan struct{})
	var beating, members sync.WaitGroup
	beating.Go(func() { r.report(ended) })
	for i := range r.members {
		members.Go(func() { r.member(i).answer(ctx) })
	}
	members.Wait()
	if r.grace != nil {
		r.grace.Stop()
	}
	close(ended)
	beating.Wait()
}

// report sends an event of each unchanged member every 30 seconds.
func (r *run) report(ended <-chan struct{}) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			r.reportUnchanged()
		}
	}
}

func (r *run) reportUnchanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.members {
		if v := &r.members[i]; !v.State.ended() {
			r.age(v)
			unchanged := *v
			r.OnEvent(Event{Member: &unchanged, Unchanged: true})
		}
	}
}

// age updates the times of a member.
func (r *run) age(v *Member) {
	if !v.State.ended() {
		d := time.Since(r.began) - v.Took
		v.Took, v.Left, v.Wait = v.Took+d, max(0, v.Left-d), max(0, v.Wait-d)
	}
}

// change changes the state of a member and reports it.
func (r *run) change(i int, do func(*Member)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &r.members[i]
	v.Wait = 0
	r.age(v)
	do(v)
	changed := *v
	r.OnEvent(Event{Member: &changed})
	if v.State == Answered && r.grace == nil && count(r.members, Answered) >= r.Quorum {
		r.startGrace()
	}
}

// startGrace starts the grace period of the members that have not ended, if any.
func (r *run) startGrace() {
	under := false
	for i := range r.members {
		if v := &r.members[i]; !v.State.ended() {
			under = true
			r.age(v)
		}
	}
	if !under {
		return
	}
	r.grace = time.AfterFunc(r.Grace, func() { r.cut(errGrace) })
	capped := r.Cap - r.AggregatorBudget - time.Since(r.began)
	r.OnEvent(Event{Quorum: slices.Clone(r.members), Grace: min(r.Grace, capped)})
}
