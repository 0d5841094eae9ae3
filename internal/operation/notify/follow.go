package notify

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

const (
	lookTime   = 5 * time.Second // between two looks at the incidents
	settleTime = time.Minute     // what is over for that long is said to be over
	feedTime   = 2 * time.Minute // between two readings of a status page
)

// Config is what a [Follower] follows, and where its notices go.
type Config struct {
	Incidents func(time.Time) []history.Incident
	Upstreams func() []Upstream // whose usage windows are followed; nil: none
	Send      func(Notice)      // is called for each notice, and must not wait
	Host      string            // the name of the machine
	Log       *slog.Logger
	Transport http.RoundTripper // of the requests to status pages; nil: the default
}

// Follower follows the incidents and decides which notices to send: at the beginning of an incident, during it and
// at its end, but not for each flap. Meanwhile it reads the provider's status page, where that is enabled. Its
// methods may be called concurrently.
type Follower struct {
	Config
	client  *http.Client
	reading sync.WaitGroup // readings of status pages

	mu       sync.Mutex
	settings Settings
	started  time.Time
	told     map[string]*told    // by the id of the incident
	spent    map[spentKey]*spent // usage windows
	pages    map[string]*page    // by upstream
}

type told struct {
	last  time.Time // of the last notice
	over  bool      // its end was announced
	again bool      // its resumption was announced
}

type page struct {
	Status
	asked time.Time
	known bool // it was read once, or could not be
}

// NewFollower returns a follower of incidents.
func NewFollower(c Config) *Follower {
	return &Follower{
		Config: c, client: &http.Client{Transport: c.Transport},
		told: map[string]*told{}, spent: map[spentKey]*spent{}, pages: map[string]*page{},
	}
}

// Use sets the settings.
func (f *Follower) Use(s Settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settings = s
}

// Run follows the incidents until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	defer f.reading.Wait()
	f.mu.Lock()
	f.started = time.Now()
	f.mu.Unlock()
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look(ctx, time.Now())
		}
	}
}

func (f *Follower) look(ctx context.Context, now time.Time) {
	all := f.Incidents(now)
	f.mu.Lock()
	defer f.mu.Unlock()
	failing, current := map[string]bool{}, map[string]bool{}
	for i := range all {
		failing[all[i].Upstream] = failing[all[i].Upstream] || all[i].Open
	}
	f.readPages(ctx, failing, now)
	for i := range all {
		in := &all[i]
		current[in.ID] = true
		if in.Open {
			f.open(in, now)
		} else {
			f.ended(in, now)
		}
	}
	for id := range f.told {
		if !current[id] {
			delete(f.told, id)
		}
	}
	f.lookAtWindows(now)
}

func (f *Follower) open(in *history.Incident, now time.Time) {
	t := f.told[in.ID]
	switch {
	case t == nil && now.Sub(in.Began) < f.settings.After:
	case t == nil && f.started.Sub(in.Began) >= f.settings.After: // else the previous process has announced it
		f.told[in.ID] = &told{last: now}
	case t == nil && f.awaitsPage(in.Upstream, now):
	case t == nil:
		f.told[in.ID] = &told{last: now}
		f.Send(f.notice(Began, in, now))
	case t.over:
		*t = told{last: now, again: true}
		f.Send(f.notice(Continues, in, now))
	case f.settings.Remind > 0 && now.Sub(t.last) >= f.settings.Remind:
		t.last = now
		f.Send(f.notice(Continues, in, now))
	}
}

// ended announces the end of an incident, once. If the incident resumes first, it is over when nothing can be added
// to it any more.
func (f *Follower) ended(in *history.Incident, now time.Time) {
	t := f.told[in.ID]
	if t == nil {
		return
	}
	settled := settleTime
	if t.again {
		settled = history.MergeGap
	}
	if !t.over && now.Sub(in.Ended) >= settled {
		t.over, t.last = true, now
		f.Send(f.notice(Ended, in, now))
	}
	if t.over && now.Sub(in.Ended) > history.MergeGap {
		delete(f.told, in.ID)
	}
}

// notice returns a notice about an incident, without the provider's message.
func (f *Follower) notice(event Event, in *history.Incident, now time.Time) Notice {
	n := Notice{
		Event: event, ID: in.ID, Upstream: in.Upstream, Models: names(in.Models), Partial: in.Partial, At: now, Began: in.Began, Ended: in.Ended,
		Recovered: in.RecoveredMs > 0, Lasted: now.Sub(in.Began), Tries: in.Tries, Failures: in.Failures, Calls: in.Calls, Held: in.Held, Lost: in.Lost,
		Host: f.Host,
	}
	if !in.Open {
		n.Lasted = in.Ended.Sub(in.Began)
	}
	if len(in.Kinds) > 0 {
		n.Cause = in.Kinds[0].Cause
	}
	if p := f.pages[in.Upstream]; p != nil && event != Ended {
		n.Vendor = p.Says
	}
	return n
}

const modelBound = 10

// names returns the names of models in a printable form: clients choose them.
func names(models []string) (all []string) {
	for _, m := range models[:min(len(models), modelBound)] {
		all = append(all, printable.Line(m))
	}
	return all
}

// feed returns the address of the status page of an upstream, also of one of that name in conversations, or "".
func (f *Follower) feed(upstream string) string {
	return f.settings.Feeds[history.Provider(upstream)]
}

// awaitsPage reports whether the status page is being read for the first time: the first notice waits for it.
func (f *Follower) awaitsPage(upstream string, now time.Time) bool {
	p := f.pages[upstream]
	return p != nil && !p.known && now.Sub(p.asked) < 2*lookTime
}

func (f *Follower) readPages(ctx context.Context, failing map[string]bool, now time.Time) {
	for name := range f.pages {
		if !failing[name] || f.feed(name) == "" {
			delete(f.pages, name)
		}
	}
	for name, fails := range failing {
		p := f.pages[name]
		if !fails || f.feed(name) == "" || p != nil && now.Sub(p.asked) < feedTime {
			continue
		}
		if p == nil {
			p = &page{}
			f.pages[name] = p
		}
		p.asked = now
		address := f.feed(name)
		f.reading.Go(func() { f.readPage(ctx, name, address) })
	}
}

// readPage reads a status page. An unreadable one says nothing.
func (f *Follower) readPage(ctx context.Context, upstream, address string) {
	s, err := ReadStatus(ctx, f.client, address)
	if err != nil && ctx.Err() == nil {
		f.Log.Info("status page not read", "upstream", upstream, "error", err.Error())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pages[upstream]; p != nil {
		p.Status, p.known = s, true
	}
}

// Vendor returns what the status page of a failing upstream says, or zero.
func (f *Follower) Vendor(upstream string) Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pages[upstream]; p != nil {
		return p.Status
	}
	return Status{}
}

// Upstream has the outages of an upstream's breaker, including spent usage windows.
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

type spent struct {
	since, opens time.Time
	models       []string
	cause        string
	over         bool // that it is open again was told
}

// lookAtWindows announces the windows that are used up, and those that are open again.
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
			f.Send(f.limitNotice(Reset, k, s, 0, now))
		}
		if !current[k] {
			delete(f.spent, k)
		}
	}
}

// reached announces, once, that a window is used up.
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
	f.Send(f.limitNotice(Limit, k, s, o.Waiting, now))
}

func (f *Follower) limitNotice(event Event, k spentKey, s *spent, waiting int, now time.Time) Notice {
	n := Notice{
		Event: event, ID: s.since.UTC().Format("20060102-150405-") + k.upstream, Upstream: k.upstream, Models: s.models, Cause: s.cause,
		At: now, Began: s.since, Resets: s.opens, Lasted: now.Sub(s.since), Calls: waiting, Host: f.Host,
	}
	if event == Reset {
		n.Ended = now
	}
	return n
}
