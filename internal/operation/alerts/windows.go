package alerts

import (
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Upstream has the outages of an upstream's breaker, among which spent usage windows are.
type Upstream struct {
	Name    string
	Outages []breaker.Outage
}

const (
	windowTime = 5 * time.Minute  // a window that opens sooner is not told
	sameWindow = 15 * time.Minute // by how much the time at which one opens may move
)

// spentKey identifies what has used up a window.
type spentKey struct {
	upstream, level string
	scope           breaker.Scope
}

// spent is a window that is used up.
type spent struct {
	since, opens time.Time
	models       []string
	cause        string
	over         bool // that it is open again was told
}

// lookAtWindows tells of the windows that are used up, and that they are open again.
func (f *Follower) lookAtWindows(now time.Time) {
	if f.Upstreams == nil {
		return
	}
	current := map[spentKey]bool{}
	for _, u := range f.Upstreams() {
		for i := range u.Outages {
			o := &u.Outages[i]
			if o.Fault == nil || !o.Fault.Window {
				continue
			}
			k := spentKey{u.Name, o.Level, o.Scope}
			current[k] = true
			f.reached(k, o, now)
		}
	}
	for k, s := range f.spent {
		if !s.over && (!current[k] || !now.Before(s.opens)) {
			s.over = true
			f.Send(f.limitNotice(notify.Reset, k, s, 0, now))
		}
		if !current[k] {
			delete(f.spent, k)
		}
	}
}

// reached tells of a window that is used up, once.
func (f *Follower) reached(k spentKey, o *breaker.Outage, now time.Time) {
	opens := o.Fault.ResetAt
	if s := f.spent[k]; s != nil && !opens.After(s.opens.Add(sameWindow)) || opens.Sub(now) < windowTime {
		return
	}
	s := &spent{since: o.Since, opens: opens, cause: o.Fault.Label()}
	if o.Scope.Model != "" {
		s.models = []string{printable.Line(o.Scope.Model)}
	}
	f.spent[k] = s
	f.Send(f.limitNotice(notify.Limit, k, s, o.Waiting, now))
}

// limitNotice returns a notice about a window.
func (f *Follower) limitNotice(event notify.Event, k spentKey, s *spent, waiting int, now time.Time) notify.Notice {
	n := notify.Notice{
		Event: event, ID: s.since.UTC().Format("20060102-150405-") + k.upstream, Upstream: k.upstream, Models: s.models, Cause: s.cause,
		At: now, Began: s.since, Resets: s.opens, Lasted: now.Sub(s.since), Calls: waiting, Host: f.Host,
	}
	if event == notify.Reset {
		n.Ended = now
	}
	return n
}
