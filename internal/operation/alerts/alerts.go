// Package alerts follows the incidents that package history has found, and decides when people are told of them:
// when one begins, while it goes on and when it is over, but not of each flap. Meanwhile it asks the provider's
// status page, where that is switched on. What a notice says and where it goes is package notify's.
package alerts

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/operation/statusfeed"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

const (
	lookTime   = 5 * time.Second // between two looks at the incidents
	settleTime = time.Minute     // what is over for that long is said to be over
	feedTime   = 2 * time.Minute // between two readings of a status page
)

// Config has what is followed, and what is done with it.
type Config struct {
	Incidents func(time.Time) []history.Incident
	Upstreams func() []Upstream   // whose usage windows are followed; nil: none
	Send      func(notify.Notice) // is called for each notice, and must not wait
	Host      string              // the name of the machine
	Log       *slog.Logger
	Transport http.RoundTripper // of the requests to status pages; nil: the default
}

// Follower follows the incidents. Its methods may be called concurrently.
type Follower struct {
	Config
	client  *http.Client
	reading sync.WaitGroup // readings of status pages

	mu       sync.Mutex
	settings notify.Settings
	started  time.Time
	told     map[string]*told    // by the id of the incident
	spent    map[spentKey]*spent // usage windows
	pages    map[string]*page    // by upstream
}

// told is what was told of an incident.
type told struct {
	last  time.Time // when something was told last
	over  bool      // that it is over
	again bool      // that it goes on, after it was over
}

// page is what a status page said last.
type page struct {
	statusfeed.Status
	asked time.Time
	known bool // it was read once, or could not be
}

// New returns a follower.
func New(c Config) *Follower {
	return &Follower{
		Config: c, client: &http.Client{Transport: c.Transport},
		told: map[string]*told{}, spent: map[spentKey]*spent{}, pages: map[string]*page{},
	}
}

// Use sets the settings.
func (f *Follower) Use(s notify.Settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settings = s
}

// Run follows the incidents until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	defer f.reading.Wait()
	f.begin(time.Now())
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

// begin notes when the program has begun.
func (f *Follower) begin(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = now
}

// look tells what there is to tell.
func (f *Follower) look(ctx context.Context, now time.Time) {
	all := f.Incidents(now)
	f.mu.Lock()
	defer f.mu.Unlock()
	failing, current := map[string]bool{}, map[string]bool{}
	for i := range all {
		failing[all[i].Upstream] = failing[all[i].Upstream] || all[i].Ended.IsZero()
	}
	f.readPages(ctx, failing, now)
	for i := range all {
		in := &all[i]
		current[in.ID] = true
		if in.Ended.IsZero() {
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

// open tells of an incident that is not over.
func (f *Follower) open(in *history.Incident, now time.Time) {
	t := f.told[in.ID]
	switch {
	case t == nil && now.Sub(in.Began) < f.settings.After:
	case t == nil && f.started.Sub(in.Began) >= f.settings.After: // the program before this one has told of it
		f.told[in.ID] = &told{last: now}
	case t == nil && f.awaitsPage(in.Upstream, now):
	case t == nil:
		f.told[in.ID] = &told{last: now}
		f.Send(f.notice(notify.Began, in, now))
	case t.over:
		*t = told{last: now, again: true}
		f.Send(f.notice(notify.Continues, in, now))
	case f.settings.Remind > 0 && now.Sub(t.last) >= f.settings.Remind:
		t.last = now
		f.Send(f.notice(notify.Continues, in, now))
	}
}

// ended tells that an incident is over, once. If it has begun again before, it is over when nothing can be added to it
// any longer.
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
		f.Send(f.notice(notify.Ended, in, now))
	}
	if t.over && now.Sub(in.Ended) > history.MergeGap {
		delete(f.told, in.ID)
	}
}

// notice returns a notice about an incident. The provider's message is not in it.
func (f *Follower) notice(event notify.Event, in *history.Incident, now time.Time) notify.Notice {
	n := notify.Notice{
		Event: event, ID: in.ID, Upstream: in.Upstream, Models: names(in.Models), Partial: in.Partial, At: now, Began: in.Began, Ended: in.Ended,
		Recovered: in.Recovered, Lasted: now.Sub(in.Began), Tries: in.Tries, Failures: in.Failures, Calls: in.Calls, Held: in.Held, Lost: in.Lost,
		Host: f.Host,
	}
	if !in.Ended.IsZero() {
		n.Lasted = in.Ended.Sub(in.Began)
	}
	if len(in.Kinds) > 0 {
		n.Cause = in.Kinds[0].Cause()
	}
	if p := f.pages[in.Upstream]; p != nil && event != notify.Ended {
		n.Vendor = p.Says
	}
	return n
}

// modelBound is how many models a notice names.
const modelBound = 10

// names returns the names of models as they may be shown: clients choose them.
func names(models []string) (all []string) {
	for _, m := range models[:min(len(models), modelBound)] {
		all = append(all, printable.Line(m))
	}
	return all
}

// feed returns the address of the status page of an upstream, also of the one of conversations with that name; "":
// none is switched on.
func (f *Follower) feed(upstream string) string {
	return f.settings.Feeds[strings.TrimPrefix(upstream, history.ConversationUpstream(""))]
}

// awaitsPage reports whether the status page is being read for the first time, so that the first notice has it too.
func (f *Follower) awaitsPage(upstream string, now time.Time) bool {
	p := f.pages[upstream]
	return p != nil && !p.known && now.Sub(p.asked) < 2*lookTime
}

// readPages reads the status pages of the upstreams that fail, and forgets the others'.
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

// readPage reads a status page. One that cannot be read says nothing.
func (f *Follower) readPage(ctx context.Context, upstream, address string) {
	s, err := statusfeed.Read(ctx, f.client, address)
	if err != nil && ctx.Err() == nil {
		f.Log.Info("status page not read", "upstream", upstream, "error", err.Error())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pages[upstream]; p != nil {
		p.Status, p.known = s, true
	}
}

// Vendor returns what the status page of an upstream says while that fails; zero: nothing is known.
func (f *Follower) Vendor(upstream string) statusfeed.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pages[upstream]; p != nil {
		return p.Status
	}
	return statusfeed.Status{}
}
