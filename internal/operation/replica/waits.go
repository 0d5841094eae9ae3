package replica

import (
	"context"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/told"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/turn"
)

const (
	lookEvery  = 2 * time.Second        // while the waits are shown here
	lookLasts  = 5 * time.Second        // for which others tell theirs
	looking    = 300 * time.Millisecond // for the first answers, at most
	waitsLast  = 4 * time.Second        // that another replica has told
	partSize   = 200                    // waits in a message
	mostWaits  = 25 * partSize          // of one replica, the oldest
	textBound  = 256
	sendsEvery = 200 * time.Millisecond
)

// looks is who shows the waits of the fleet. Its mutex is the replica's.
type looks struct {
	shown  time.Time                 // until when another replica shows what waits here
	sent   time.Time                 // when that was told last
	asked  time.Time                 // when the others were asked
	wake   chan struct{}             // wakes a reader that waits for the first answers; nil: none does
	others map[string]*waitsOfOthers // by replica
}

// waitsOfOthers are those of one other replica.
type waitsOfOthers struct {
	all   []gateway.Wait
	heard time.Time
	next  []gateway.Wait // the parts that have come of the next list
	round int64          // of that
}

func (l *looks) isShown(now time.Time) bool { return now.Before(l.shown) }

// knowsAll reports whether so many other replicas have told what waits there.
func (l *looks) knowsAll(n int, now time.Time) bool {
	for _, o := range l.others {
		if now.Sub(o.heard) <= waitsLast {
			n--
		}
	}
	return n <= 0
}

// Waits returns the requests that wait for their answer anywhere in the fleet, the oldest first. Of those at other
// replicas it knows what was a second ago.
func (r *Replica) Waits() []gateway.Wait {
	all := r.Gateway.Waits()
	if r.fleet.Number() == 1 {
		return all
	}
	r.look()
	now := r.fleet.Clock.Now()
	r.mu.Lock()
	for id, o := range r.looks.others {
		if now.Sub(o.heard) > waitsLast {
			delete(r.looks.others, id) // it is gone, or has gone silent
			continue
		}
		all = append(all, o.all...)
	}
	r.mu.Unlock()
	slices.SortStableFunc(all, func(a, b gateway.Wait) int { return a.Began.Compare(b.Began) })
	return all
}

// look asks the others what waits there, from time to time. The first time it waits a moment for their answers.
func (r *Replica) look() {
	now := r.fleet.Clock.Now()
	r.mu.Lock()
	l := &r.looks
	passed := now.Sub(l.asked)
	if passed < lookEvery {
		r.mu.Unlock()
		return
	}
	first := passed > lookLasts && l.wake == nil && !l.knowsAll(r.fleet.Number()-1, now)
	var wake chan struct{}
	if first {
		wake = make(chan struct{}, 1)
		l.wake = wake
	}
	l.asked = now
	r.mu.Unlock()
	if r.fleet.Send(lookKind, struct{}{}) == nil && first {
		_, _ = r.fleet.Clock.SleepOrWake(context.Background(), looking, wake)
	}
	if first {
		r.mu.Lock()
		l.wake = nil
		r.mu.Unlock()
	}
}

// heardLook tells what waits here.
func (r *Replica) heardLook(string, struct{}) {
	now := r.fleet.Clock.Now()
	r.mu.Lock()
	l := &r.looks
	recent := now.Sub(l.sent) < sendsEvery
	l.shown = now.Add(lookLasts)
	r.mu.Unlock()
	if !recent {
		r.sendWaits()
	}
}

// part is a message about what waits at a replica. The last one of a round completes the list.
type part struct {
	Round int64      `json:"round"`
	Waits []waitTold `json:"waits"`
	Last  bool       `json:"last"`
}

// sendWaits tells what waits here.
func (r *Replica) sendWaits() {
	now := r.fleet.Clock.Now()
	r.mu.Lock()
	r.looks.sent = now
	r.mu.Unlock()
	all := r.Gateway.Waits()
	all = all[:min(len(all), mostWaits)]
	for {
		n := min(len(all), partSize)
		p := part{Round: now.UnixNano(), Last: n == len(all)}
		for i := range all[:n] {
			p.Waits = append(p.Waits, newWaitTold(&all[i], now))
		}
		_ = r.fleet.Send(waitsKind, p)
		if all = all[n:]; p.Last {
			return
		}
	}
}

// heardWaits notes what waits at another replica.
func (r *Replica) heardWaits(from string, p part) {
	now := r.fleet.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.looks
	o := l.others[from]
	if o == nil {
		o = &waitsOfOthers{}
	}
	if o.round != p.Round {
		o.round, o.next = p.Round, nil
	}
	for i := range p.Waits {
		if len(o.next) < mostWaits {
			o.next = append(o.next, p.Waits[i].wait(from, now))
		}
	}
	if !p.Last {
		return
	}
	o.all, o.next, o.heard = o.next, nil, now
	if l.others == nil {
		l.others = map[string]*waitsOfOthers{}
	}
	l.others[from] = o
	if l.wake != nil && l.knowsAll(r.fleet.Number()-1, now) {
		select {
		case l.wake <- struct{}{}:
			r.fleet.Clock.Woke(l.wake)
		default:
		}
	}
}

// waitTold is a wait as replicas tell each other: its times count from when it is sent, as clocks differ; 0: none.
type waitTold struct {
	Call         gateway.Call     `json:"call"`
	Began        time.Duration    `json:"began"`
	State        string           `json:"state"`
	Next         string           `json:"next,omitzero"`
	Held         bool             `json:"held,omitzero"`
	AfterContent bool             `json:"afterContent,omitzero"`
	Tries        int              `json:"tries"`
	Limit        int              `json:"limit"`
	Due          time.Duration    `json:"due,omitzero"`
	Deadline     time.Duration    `json:"deadline,omitzero"`
	Waited       time.Duration    `json:"waited,omitzero"`
	Fault        *told.Fault      `json:"fault,omitempty"`
	CachedUntil  time.Duration    `json:"cachedUntil,omitzero"`
	CacheTokens  int64            `json:"cacheTokens,omitzero"`
	Place        *ratelimit.Place `json:"place,omitempty"`
}

func newWaitTold(w *gateway.Wait, now time.Time) waitTold {
	t := waitTold{
		Call: w.Call, Began: told.In(w.Began, now), State: w.State, Next: w.Next, Held: w.Held, AfterContent: w.AfterContent,
		Tries: w.Run.Tries, Limit: w.Limit, Due: told.In(w.Due, now), Deadline: told.In(w.Deadline, now), Waited: w.Waited,
		CachedUntil: told.In(w.Cache.Until, now), CacheTokens: w.Cache.Tokens, Place: w.Place,
	}
	t.Call.Began, t.Call.Parent = time.Time{}, ""
	t.Fault = told.NewFault(w.Fault, textBound, now)
	return t
}

// wait is the reverse of newWaitTold, of a wait at another replica.
func (t *waitTold) wait(from string, now time.Time) gateway.Wait {
	w := gateway.Wait{
		Call: t.Call, State: t.State, Next: t.Next, Held: t.Held, AfterContent: t.AfterContent, Place: t.Place,
		Wait: policy.Wait{
			Run: policy.Run{Tries: t.Tries}, Limit: t.Limit, Due: told.Time(t.Due, now), Deadline: told.Time(t.Deadline, now), Waited: t.Waited,
		},
		Cache: turn.PromptCache{Until: told.Time(t.CachedUntil, now), Tokens: t.CacheTokens},
	}
	w.Began, w.Replica = told.Time(t.Began, now), from
	w.Fault = t.Fault.Error("", now)
	return w
}
