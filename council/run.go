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
		s.members[i] = Member{Name: m.Model.Name(), Left: c.Budget}
	}
	s.aggregator.Name = c.Aggregator.Model.Name()
	return s
}

// started returns the first event.
func (r *run) started() Started {
	o := Started{Aggregator: r.aggregator.Name, Terms: r.Council}
	for _, v := range r.members {
		o.Members = append(o.Members, v.Name)
	}
	return o
}

// tell calls OnEvent.
func (r *run) tell(e Event) {
	if r.OnEvent != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.OnEvent(e)
	}
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
	if r.OnEvent == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.members {
		if v := &r.members[i]; !v.State.ended() {
			r.age(v)
			r.OnEvent(MemberChanged{Index: i, Member: *v, Still: true})
		}
	}
}

// age updates the times of a member.
func (r *run) age(v *Member) { *v = v.After(time.Since(r.began) - v.Took) }

// change changes the state of a member and reports it.
func (r *run) change(i int, do func(*Member)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &r.members[i]
	v.Wait = 0
	r.age(v)
	do(v)
	if r.OnEvent != nil {
		r.OnEvent(MemberChanged{Index: i, Member: *v})
	}
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
	if r.OnEvent != nil {
		capped := r.Cap - r.AggregatorBudget - time.Since(r.began)
		r.OnEvent(QuorumReached{Members: slices.Clone(r.members), Grace: min(r.Grace, capped)})
	}
}

// checkQuorum returns the error of a council without a quorum; nil: it has one.
func (r *run) checkQuorum(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case count(r.members, Answered) < r.Quorum:
		return &QuorumError{Members: r.members, Quorum: r.Quorum}
	}
	return nil
}

// result returns the result so far.
func (r *run) result() Result {
	return Result{Members: r.members, Aggregator: r.aggregator, Took: time.Since(r.began)}
}
