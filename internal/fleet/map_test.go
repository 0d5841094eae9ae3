package fleet_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
)

// mapWorld is a fleet whose replicas have a map.
type mapWorld struct {
	*testing.T
	options fleet.Options[int]
	network fleet.Network
	all     []*mapReplica

	mu    sync.Mutex
	luck  *rand.Rand
	loss  float64
	delay time.Duration
	far   func(id string) bool // replicas on the other side of a partition; nil: there is none
}

// mapReplica is one of them.
type mapReplica struct {
	*fleet.Fleet
	*fleet.Map[int]
	mu      sync.Mutex
	changes []string
}

// late is a clock that is wrong.
type late struct {
	clock.Machine
	by time.Duration
}

func (l late) Now() time.Time { return time.Now().Add(l.by) }

// newMapWorld joins replicas a, b, c …, each with a clock of its own.
func newMapWorld(t *testing.T, number int, o fleet.Options[int]) *mapWorld {
	o.MaxTTL, o.OfOne, o.OfAll = time.Hour, cmp.Or(o.OfOne, 1000), cmp.Or(o.OfAll, 3000)
	w := &mapWorld{T: t, options: o, luck: rand.New(rand.NewPCG(1, 2)), delay: 20 * time.Millisecond}
	w.network.Delay = func() time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		return time.Duration(w.luck.Float64() * float64(w.delay))
	}
	w.network.Lost = func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.luck.Float64() < w.loss }
	w.network.Reaches = func(from, to string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.far == nil || w.far(from) == w.far(to)
	}
	for range number {
		w.join()
	}
	time.Sleep(time.Second)
	return w
}

func (w *mapWorld) draw() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.luck.Float64()
}

// cut has some replicas be on the other side of a partition; nil: none.
func (w *mapWorld) cut(far func(string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.far = far
}

func (w *mapWorld) join() *mapReplica {
	id := string(rune('a' + len(w.all)))
	r := &mapReplica{Fleet: fleet.Join(fleet.Config{
		Name: "main", ID: id, Transport: w.network.Connect(id), Rand: w.draw, Clock: late{by: time.Duration(len(w.all)) * time.Hour},
	})}
	o := w.options
	o.Changed = func(e fleet.Entry[int]) {
		r.mu.Lock()
		defer r.mu.Unlock()
		what := fmt.Sprint(e.Value)
		if e.Gone && e.Value == 0 {
			what = "gone"
		}
		r.changes = append(r.changes, fmt.Sprintf("%s=%s by %s", e.Key, what, e.Owner))
	}
	r.Map = fleet.NewMap(r.Fleet, "test", o)
	w.Cleanup(r.Close)
	w.all = append(w.all, r)
	return r
}

// shown returns what a replica has, as a@1 for 1 by replica a, with the keys before.
func (r *mapReplica) shown() string {
	var all []string
	for _, e := range r.All() {
		all = append(all, fmt.Sprintf("%s:%s@%d", e.Key, e.Owner, e.Value))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// want checks what all replicas have.
func (w *mapWorld) want(when, want string) {
	w.Helper()
	for _, r := range w.all {
		if got := r.shown(); got != want {
			w.Errorf("%s: replica %s has %q, want %q", when, r.ID, got, want)
		}
	}
}

var (
	common = fleet.Options[int]{Common: true, Outlives: true}
	ofEach = fleet.Options[int]{}
)

func TestMap_EntriesAreKnownToAllForTheirTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMapWorld(t, 3, ofEach)
		w.all[0].Put("k", 1, 10*time.Second)
		time.Sleep(50 * time.Millisecond) // it has arrived before the next
		w.all[1].Put("k", 2, time.Hour)
		w.all[1].Put("x", 3, time.Hour)
		time.Sleep(50 * time.Millisecond)
		w.want("put", "k:a@1 k:b@2 x:b@3")
		time.Sleep(3 * time.Second)
		for e := range w.all[2].Others("k") {
			if age := w.all[2].Clock.Now().Sub(e.At); age < 3*time.Second || age > 3100*time.Millisecond {
				t.Errorf("the entry of %s was put %v ago by the clock of another, want 3s", e.Owner, age)
			}
		}
		w.all[1].Delete("x")
		time.Sleep(50 * time.Millisecond)
		w.want("deleted", "k:a@1 k:b@2")
		time.Sleep(9 * time.Second)
		w.want("expired", "k:b@2")
		if got, want := strings.Join(w.all[2].changes, ", "), "k=1 by a, k=2 by b, x=3 by b, x=gone by b, k=gone by a"; got != want {
			t.Errorf("changes: got %s, want %s", got, want)
		}
	})
}

func TestMap_LatestPutOfACommonKeyWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMapWorld(t, 3, common)
		w.all[2].Put("k", 9, time.Hour)
		time.Sleep(50 * time.Millisecond)
		w.all[0].Put("k", 1, time.Hour) // by a clock that is two hours earlier
		time.Sleep(50 * time.Millisecond)
		w.want("put by the second", "k:a@1")
		if e, ok := w.all[2].Get("k"); !ok || e.Value != 1 {
			t.Errorf("get: %+v, %v, want what was put last", e, ok)
		}
		w.all[1].Delete("k")
		time.Sleep(50 * time.Millisecond)
		w.want("deleted by the third", "")
		w.all[2].Put("k", 5, time.Hour)
		time.Sleep(50 * time.Millisecond)
		w.want("put after the deletion", "k:c@5")
	})
}

// Puts that are lost, delayed and reordered are all known within some seconds, each in its last state.
func TestMap_LossDelayAndReorderAreSurvived(t *testing.T) {
	for _, o := range []fleet.Options[int]{common, ofEach} {
		synctest.Test(t, func(t *testing.T) {
			w := newMapWorld(t, 4, o)
			w.mu.Lock()
			w.loss, w.delay = 0.2, 500*time.Millisecond
			w.mu.Unlock()
			for i := range 500 {
				r := w.all[i%4]
				if key := fmt.Sprint(i % 50); i%7 == 0 {
					r.Delete(key)
				} else {
					r.Put(key, i, time.Hour)
				}
				time.Sleep(time.Duration(w.draw() * float64(100*time.Millisecond)))
			}
			time.Sleep(30 * time.Second)
			w.mu.Lock()
			w.loss = 0 // while signs of life are lost, there may always be a replica that has just been taken for gone
			w.mu.Unlock()
			time.Sleep(10 * time.Second)
			w.want("after a fifth was lost", w.all[0].shown())
			if n := len(w.all[0].All()); n < 40 {
				t.Errorf("%d entries are left, want those that were not deleted", n)
			}
		})
	}
}

func TestMap_NewcomerGetsAllThatLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMapWorld(t, 2, fleet.Options[int]{OfOne: 5000, OfAll: 9000})
		for i := range 3000 {
			w.all[i%2].Put(fmt.Sprint(i), i, time.Hour)
		}
		w.all[0].Put("short", 1, time.Second)
		w.all[0].Delete("4")
		time.Sleep(2 * time.Second)
		w.join()
		time.Sleep(time.Second)
		if n := len(w.all[2].All()); n != 2999 {
			t.Errorf("the newcomer has %d entries after a second, want 2999", n)
		}
		w.want("a newcomer", w.all[0].shown())
	})
}

func TestMap_EntriesGoWithTheirOwnerOrOutliveIt(t *testing.T) {
	for _, tt := range []struct {
		name  string
		o     fleet.Options[int]
		leave func(w *mapWorld, r *mapReplica)
		want  string
	}{
		{"it leaves", ofEach, func(_ *mapWorld, r *mapReplica) { r.Close() }, "k:b@2"},
		{"it is silent", ofEach, func(w *mapWorld, _ *mapReplica) { w.cut(func(id string) bool { return id == "a" }) }, "k:b@2"},
		{"entries outlive it", fleet.Options[int]{Outlives: true}, func(_ *mapWorld, r *mapReplica) { r.Close() }, "k:a@1 k:b@2"},
		{"common ones outlive it, and a newcomer gets them", common, func(_ *mapWorld, r *mapReplica) { r.Close() }, "k:b@2 x:a@7"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newMapWorld(t, 3, tt.o)
			w.all[0].Put("k", 1, time.Hour)
			if tt.o.Common {
				w.all[0].Put("x", 7, time.Hour)
			}
			time.Sleep(50 * time.Millisecond)
			w.all[1].Put("k", 2, time.Hour)
			time.Sleep(10 * time.Second)
			tt.leave(w, w.all[0])
			time.Sleep(10 * time.Second)
			w.all = w.all[1:]
			if !tt.o.Outlives || tt.o.Common {
				w.join() // it learns the same
				time.Sleep(5 * time.Second)
			}
			w.want(tt.name, tt.want)
			if got := strings.Contains(strings.Join(w.all[0].changes, " "), "k=gone by a"); got != !tt.o.Outlives {
				t.Errorf("%s: the others are told that it has gone: %v", tt.name, got)
			}
		})
	}
}

// A replica that has put nothing itself tells a newcomer what has outlived its owner, whichever of them is first by name.
func TestMap_NewcomerLearnsWhatHasOutlivedItsOwnerFromOneThatHasPutNothing(t *testing.T) {
	for _, newcomer := range []string{"a", "z"} {
		synctest.Test(t, func(t *testing.T) {
			network := new(fleet.Network)
			start := func(id string) (*fleet.Fleet, *fleet.Map[int]) {
				f := fleet.Join(fleet.Config{Name: "main", ID: id, Transport: network.Connect(id)})
				t.Cleanup(f.Close)
				return f, fleet.NewMap(f, "map", fleet.Options[int]{MaxTTL: time.Hour, OfOne: 10, OfAll: 10, Outlives: true})
			}
			gone, entries := start("gone")
			start("other")
			time.Sleep(5 * time.Second)
			entries.Put("k", 1, time.Hour)
			time.Sleep(5 * time.Second)
			gone.Close()
			time.Sleep(5 * time.Second)
			_, learned := start(newcomer)
			time.Sleep(5 * time.Second)
			var got []string
			for _, e := range learned.All() {
				got = append(got, fmt.Sprintf("%s:%s@%d", e.Key, e.Owner, e.Value))
			}
			if strings.Join(got, " ") != "k:gone@1" {
				t.Errorf("newcomer %s: got %v, want [k:gone@1]", newcomer, got)
			}
		})
	}
}

// Both sides of a partition continue, and agree afterwards: the later version holds, or the greater value.
func TestMap_SidesOfAPartitionAgreeAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMapWorld(t, 4, common)
		for _, key := range []string{"gone", "left", "more", "same"} {
			w.all[0].Put(key, 1, time.Hour)
		}
		time.Sleep(50 * time.Millisecond)
		w.cut(func(id string) bool { return id >= "c" })
		time.Sleep(10 * time.Second)
		w.all[0].Put("more", 2, time.Hour)
		w.all[2].Put("more", 8, time.Hour)
		w.all[0].Put("more", 3, time.Hour)
		w.all[1].Put("same", 4, time.Hour)
		w.all[3].Put("same", 5, time.Hour)
		w.all[3].Delete("gone")
		time.Sleep(40 * time.Second)
		w.cut(nil)
		time.Sleep(10 * time.Second)
		w.want("together again", "left:a@1 more:a@3 same:d@5")
	})
}

// raw sends messages that no replica of this version would.
type raw struct {
	fleet.Transport
	id string
}

func (r raw) send(kind, body string) {
	_ = r.Publish("ridethrough.main.all", fmt.Appendf(nil, `{"from":%q,"kind":%q,"body":%s}`, r.id, kind, body))
}

func TestMap_NonsenseDoesNoHarm(t *testing.T) {
	const most = "9223372036854775807"
	for _, o := range []fleet.Options[int]{common, ofEach} {
		synctest.Test(t, func(t *testing.T) {
			w := newMapWorld(t, 2, o)
			w.all[0].Put("k", 1, time.Hour)
			stranger := raw{w.network.Connect("z"), "z"}
			stranger.send("puts", `[{"map":"test","after":0,"to":1,"puts":[{"key":"from a stranger","value":1,"version":1,"ttl":1000000000}]}]`)
			stranger.send("alive", `{"heads":{"test":`+most+`,"unknown":7},"new":true}`)
			time.Sleep(time.Second)
			long, _ := json.Marshal(strings.Repeat("k", 2000))
			for _, p := range []string{
				`{"key":"k","value":2,"version":` + most + `,"ttl":` + most + `}`,
				`{"key":"k","value":2,"version":-1,"ttl":1000000000}`,
				`{"key":"text","value":"no number","version":1,"ttl":1000000000}`,
				`{"key":"over","value":2,"version":1,"ttl":-5}`,
				`{"key":` + string(long) + `,"value":2,"version":1,"ttl":1000000000}`,
				`{"key":"list","value":[` + strings.Repeat("1,", 5000) + `1],"version":1,"ttl":1000000000}`,
				`{"key":"another's","value":2,"version":1,"ttl":1000000000,"owner":"b"}`,
				`{"key":"later","value":3,"version":7,"ttl":` + most + `,"age":` + most + `,"more":{}}`,
			} {
				stranger.send("puts", `[{"map":"test","after":-5,"to":`+most+`,"puts":[`+p+`]}]`)
			}
			for _, body := range []string{`7`, `"x"`, `[{"map":7}]`, `{}`, `null`, `[{"map":"unknown","puts":[{}]}]`} {
				for _, kind := range []string{"puts", "alive", "missing", "outages"} {
					stranger.send(kind, body)
				}
			}
			stranger.send("missing", `["test","unknown"]`)
			time.Sleep(time.Second)
			w.want("after nonsense", "k:a@1 later:z@3")
			if e := w.all[0].All(); w.all[0].Clock.Now().Sub(e[0].At) > 2*time.Hour {
				t.Errorf("an entry was put at %v, want an age of an hour at most", e[0].At)
			}
			w.all[1].Put("k", 4, time.Hour)
			time.Sleep(7 * time.Second)
			want := "k:a@1 k:b@4"
			if o.Common {
				want = "k:b@4 later:z@3"
			}
			if got := w.all[0].shown(); got != want {
				t.Errorf("after the next put, without the stranger: %s, want %s", got, want)
			}
			time.Sleep(time.Hour)
			w.want("after the longest TTL", "")
		})
	}
}

// A replica that floods the map drops its own entries only.
func TestMap_FloodTakesFromItsOwnerOnly(t *testing.T) {
	for _, o := range []fleet.Options[int]{{OfOne: 100, OfAll: 250}, {OfOne: 200, OfAll: 250, Common: true}} {
		synctest.Test(t, func(t *testing.T) {
			w := newMapWorld(t, 3, o)
			for i := range 80 {
				w.all[1].Put(fmt.Sprint("quiet ", i), i, time.Hour)
				w.all[2].Put(fmt.Sprint("silent ", i), i, time.Hour)
			}
			for i := range 5000 {
				w.all[0].Put(fmt.Sprint(i), i, time.Hour)
				if i%3 == 0 {
					w.all[0].Delete(fmt.Sprint(i))
				}
			}
			time.Sleep(10 * time.Second)
			for _, r := range w.all {
				of := map[string]int{}
				for _, e := range r.All() {
					of[e.Owner]++
				}
				if of["b"] != 80 || of["c"] != 80 || of["a"] > 100 || of["a"] < 50 {
					t.Errorf("replica %s has %v entries of each, want 80 of the others beside at most 100 of a", r.ID, of)
				}
			}
		})
	}
}

// Puts that follow each other are few messages, and none is too large.
func TestMap_PutsGoOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		var network fleet.Network
		f := fleet.Join(fleet.Config{Name: "main", ID: "a", Transport: counting{network.Connect("a"), &n}})
		defer f.Close()
		m := fleet.NewMap(f, "test", fleet.Options[string]{MaxTTL: time.Hour, OfOne: 5000, OfAll: 5000})
		time.Sleep(time.Second)
		before := n.Load()
		for i := range 1000 {
			m.Put(fmt.Sprint(i), strings.Repeat("x", 1000), time.Hour)
		}
		m.Put("too large", strings.Repeat("x", 100_000), time.Hour)
		time.Sleep(100 * time.Millisecond)
		if got := n.Load() - before; got < 8 || got > 12 {
			t.Errorf("%d messages of 1000 entries of 1 kB, want about ten", got)
		}
		if _, ok := m.Get("too large"); ok || len(m.All()) != 1000 {
			t.Errorf("%d entries, the one that is too large among them: %v; want 1000, and false", len(m.All()), ok)
		}
	})
}

func TestMap_KnowsPrefixesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMapWorld(t, 2, fleet.Options[int]{Prefix: 2, Common: true, Outlives: true})
		a, b := w.all[0], w.all[1]
		a.Put("ab1", 1, time.Hour)
		time.Sleep(50 * time.Millisecond)
		if a.Knows("") || a.Knows("ab") || !b.Knows("") || !b.Knows("ab") || b.Knows("ac") {
			t.Error("a key is known to its owner as another's, or not to another by its prefix")
		}
		b.Put("ab1", 2, time.Hour)
		time.Sleep(50 * time.Millisecond)
		if !a.Knows("ab") || b.Knows("") {
			t.Error("a key that another has taken over is known as before")
		}
		a.Delete("ab1")
		time.Sleep(50 * time.Millisecond)
		if a.Knows("") || b.Knows("") {
			t.Error("a key that was deleted is known")
		}
		a.Put("xy", 3, time.Hour)
		time.Sleep(50 * time.Millisecond)
		a.Close()
		time.Sleep(10 * time.Second)
		if e, ok := b.Get("xy"); !b.Knows("xy") || !ok || e.Owner != "a" {
			t.Errorf("a key of a replica that has gone: %+v, known as another's: %v; want both", e, b.Knows("xy"))
		}
	})
}
