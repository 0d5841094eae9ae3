package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// gateways are a fleet before a store.
type gateways struct {
	*testing.T
	kv      store.KV
	mu      sync.Mutex
	members []string
}

// served is one gateway of it.
type served struct {
	*history.Keeper
	own  *history.History
	dead *atomic.Bool
	end  func()
}

// link is a gateway's way to the store.
type link struct {
	store.KV
	dead *atomic.Bool
}

func (l link) Get(ctx context.Context, key string) (store.Entry, error) {
	if l.dead.Load() {
		return store.Entry{}, store.ErrUnavailable
	}
	return l.KV.Get(ctx, key)
}

// start starts a gateway.
func (w *gateways) start(id string) *served {
	g := &served{own: history.Open("", slog.New(slog.DiscardHandler)), dead: new(atomic.Bool)}
	g.Keeper = &history.Keeper{
		KV: link{w.kv, g.dead}, Name: "main", ID: id, Own: g.own, Log: slog.New(slog.DiscardHandler), Members: func() []string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.Clone(w.members)
		},
	}
	w.mu.Lock()
	w.members = append(w.members, id)
	slices.Sort(w.members)
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { g.Run(ctx); close(done) }()
	g.end = func() {
		cancel()
		<-done
		w.mu.Lock()
		w.members = slices.DeleteFunc(w.members, func(m string) bool { return m == id })
		w.mu.Unlock()
	}
	return g
}

// kill ends a gateway that cannot save any more.
func (g *served) kill() {
	g.dead.Store(true)
	g.end()
}

// fail has tries at an upstream fail for some time.
func (g *served) fail(tries int) {
	for i := range tries {
		id := int64(i + 1)
		g.own.Watch(&gateway.Event{At: time.Now(), Call: gateway.Call{ID: id, Upstream: "anthropic", Model: "m", Began: time.Now()}, Try: retry.Try{
			N: 1, Start: time.Now(), Took: time.Second, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529},
		}})
		time.Sleep(time.Second)
	}
}

// shows returns the incidents that a gateway shows.
func (g *served) shows() (all []string) {
	for _, in := range g.Shown().Incidents(time.Now()) {
		all = append(all, fmt.Sprintf("%d failed at %v", in.Failures, in.Replicas))
	}
	return all
}

// Each gateway shows the incident of all, also that of one which was killed, and so does the next process.
func TestKeeper_ShowsTheHistoryOfTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gateways{T: t, kv: store.Memory()}
		a, b, c := w.start("a"), w.start("b"), w.start("c")
		var seen sync.WaitGroup
		for _, g := range []*served{a, b, c} {
			seen.Go(func() { g.fail(10) })
		}
		seen.Wait()
		time.Sleep(6 * time.Second)
		check := func(when string, g *served, want string) {
			t.Helper()
			if got := fmt.Sprint(g.shows()); got != want {
				t.Errorf("%s: got %s, want %s", when, got, want)
			}
		}
		check("at the first", a, "[30 failed at [a b c]]")
		check("at the last", c, "[30 failed at [a b c]]")
		b.kill()
		check("after a kill", c, "[30 failed at [a b c]]")
		c.fail(2)
		check("of its own, at once", c, "[32 failed at [a b c]]")
		time.Sleep(8 * time.Second)
		check("some seconds later, at another", a, "[32 failed at [a b c]]")
		a.end()
		c.end()
		d := w.start("d")
		time.Sleep(time.Second)
		check("in the next process", d, "[32 failed at [a b c]]")
		d.end()
	})
}

// A store that does not answer holds up a reader for half a second, once.
func TestKeeper_StoreThatIsAwayHoldsUpNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gateways{T: t, kv: store.Memory()}
		g := w.start("a")
		g.dead.Store(true)
		g.fail(5)
		for _, most := range []time.Duration{500 * time.Millisecond, 0, 0} {
			begun := time.Now()
			if got := fmt.Sprint(g.shows()); got != "[5 failed at [a]]" || time.Since(begun) > most {
				t.Errorf("got %s after %v, want its own within %v", got, time.Since(begun), most)
			}
			time.Sleep(5 * time.Second)
		}
		g.dead.Store(false)
		time.Sleep(6 * time.Second)
		g.kill()
		next := w.start("b")
		time.Sleep(time.Second)
		if got := fmt.Sprint(next.shows()); got != "[5 failed at [a]]" {
			t.Errorf("what was saved when the store was there again: %s, want the incident", got)
		}
		next.end()
	})
}

// The histories of gateways that are gone are adopted, and count once.
func TestKeeper_AdoptsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gateways{T: t, kv: store.Memory()}
		for i := range 40 {
			g := w.start(fmt.Sprint("old", i))
			g.fail(5)
			g.end()
			time.Sleep(10 * time.Minute)
		}
		g := w.start("a")
		keys := func() (n int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for e := range w.kv.Watch(ctx, "") {
				if e.Value != nil {
					n++
				}
			}
			return n
		}
		counts := func() (incidents, failures int) {
			time.Sleep(3 * time.Second)
			for _, in := range g.Shown().Incidents(time.Now()) {
				incidents, failures = incidents+1, failures+in.Failures
			}
			return incidents, failures
		}
		for _, tt := range []struct {
			after time.Duration
			keys  int
		}{{time.Second, 2*40 + 1}, {20 * time.Minute, 2*32 + 1 + 2}, {30 * time.Hour, 1 + 2}} {
			time.Sleep(tt.after)
			incidents, failures := counts()
			if n := keys(); incidents != 40 || failures != 200 || n > tt.keys+1 {
				t.Errorf("after %v: %d incidents with %d failures in %d entries, want 40 with 200 in %d or one more", tt.after, incidents, failures, n, tt.keys)
			}
		}
		g.end()
	})
}

// keepsAll is a store in which nothing is deleted while it is set.
type keepsAll struct {
	store.KV
	set atomic.Bool
}

func (k *keepsAll) Put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	if k.set.Load() && e.Value == nil {
		return store.Entry{}, store.ErrUnavailable
	}
	return k.KV.Put(ctx, e, ttl)
}

// What was adopted and could not be deleted counts once, also for the next one that adopts it.
func TestKeeper_AdoptsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &keepsAll{KV: store.Memory()}
		w := &gateways{T: t, kv: kv}
		old := w.start("old")
		old.fail(5)
		old.end()
		kv.set.Store(true)
		a := w.start("a")
		time.Sleep(26 * time.Hour)
		if got := fmt.Sprint(a.shows()); got != "[5 failed at [old]]" {
			t.Errorf("after it was adopted: %s, want one incident", got)
		}
		a.end()
		b := w.start("b")
		kv.set.Store(false)
		time.Sleep(26 * time.Hour)
		if got := fmt.Sprint(b.shows()); got != "[5 failed at [old]]" {
			t.Errorf("after it was adopted again: %s, want one incident", got)
		}
		b.end()
	})
}

// refusing is a store that refuses entries with an error, while it has one.
type refusing struct {
	store.KV
	err atomic.Pointer[error]
}

func (r *refusing) Put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	if err := r.err.Load(); err != nil {
		return store.Entry{}, *err
	}
	return r.KV.Put(ctx, e, ttl)
}

// That a history is not saved is logged once, unless the store is away, which is known otherwise.
func TestKeeper_SaysOnceThatNothingIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		kv := &refusing{KV: store.Memory()}
		g := &served{own: history.Open("", slog.New(slog.DiscardHandler))}
		g.Keeper = &history.Keeper{
			KV: kv, Name: "main", ID: "a", Own: g.own, Log: slog.New(slog.NewTextHandler(&logged, nil)), Members: func() []string { return []string{"a"} },
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { g.Run(ctx); close(done) }()
		for _, c := range []struct {
			err  error
			want int
		}{{errors.New("no permission"), 1}, {nil, 1}, {store.ErrUnavailable, 1}, {errors.New("no permission"), 2}, {store.ErrUnavailable, 2}, {errors.New("no permission"), 2}} {
			if kv.err.Store(&c.err); c.err == nil {
				kv.err.Store(nil)
			}
			g.fail(3)
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := strings.Count(logged.String(), "history not saved"); n != c.want {
				t.Errorf("after %v: said %d times, want %d:\n%s", c.err, n, c.want, logged.String())
			}
		}
		cancel()
		<-done
	})
}
