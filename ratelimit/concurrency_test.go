package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/ratelimit"
)

// server answers so many requests at a time, and the others wait in the order in which they came. It states nothing.
type server struct {
	slots    chan struct{}
	prefill  float64 // bytes of new prompt a second
	generate time.Duration
	contends bool          // a prompt is read at the expense of the others
	shares   bool          // all of it is shared: answers take longer while more are in progress
	slower   time.Time     // from then on prompts are read at a third of the speed; zero: never
	loads    time.Duration // the first answer takes so much longer to begin
	refuses  int           // more than so many that wait; 0: none

	mu       sync.Mutex
	dice     *rand.Rand
	reading  int
	waiting  int
	answered int
}

func newServer(slots int) *server {
	return &server{slots: make(chan struct{}, slots), prefill: 20000, generate: 10 * time.Second, dice: rand.New(rand.NewPCG(1, 2))}
}

// ask sends an adaptive request, with so many new bytes in its prompt.
func (s *server) ask(ctx context.Context, t *ratelimit.Table, r *request, fresh float64) {
	c := &ratelimit.Call{Key: key, Request: r, Adaptive: t != nil}
	for {
		if t != nil && t.Acquire(ctx, c) != nil {
			return
		}
		began := time.Now()
		o := s.begin(fresh)
		if t != nil {
			t.Observe(c, http.StatusOK, http.Header{})
			t.Tried(c, o, time.Since(began))
		}
		if o == ratelimit.Began {
			break
		}
		time.Sleep(time.Second)
	}
	s.mu.Lock()
	takes := time.Duration((0.5 + s.dice.Float64()) * float64(s.generate))
	if s.shares {
		takes += takes * time.Duration(len(s.slots)) / 16
	}
	s.mu.Unlock()
	time.Sleep(takes)
	<-s.slots
	s.mu.Lock()
	s.answered++
	s.mu.Unlock()
	if t != nil {
		t.Close(c)
	}
}

// begin waits for a slot and reads the prompt.
func (s *server) begin(fresh float64) ratelimit.Outcome {
	s.mu.Lock()
	full := s.refuses > 0 && s.waiting >= s.refuses
	s.waiting++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}()
	if full {
		return ratelimit.Overloaded
	}
	s.slots <- struct{}{}
	s.mu.Lock()
	s.reading++
	seconds := 0.1 + fresh/s.prefill
	if s.contends {
		seconds *= float64(s.reading)
	}
	if !s.slower.IsZero() && time.Now().After(s.slower) {
		seconds *= 3
	}
	seconds += s.loads.Seconds()
	s.loads = 0
	s.mu.Unlock()
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	s.mu.Lock()
	s.reading--
	s.mu.Unlock()
	return ratelimit.Began
}

// overload has so many agents ask one request after the other for a time, and a person every half a minute. It returns
// how long the person waited beyond what an answer takes, in order, and the limits meanwhile.
func (s *server) overload(t *testing.T, table *ratelimit.Table, agents int, lasts time.Duration, size func(*rand.Rand) (bytes, fresh float64)) (waits []time.Duration, limits []float64) {
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	var all sync.WaitGroup
	for i := range agents {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(3, uint64(i)))
			bytes := 0.0
			for ctx.Err() == nil {
				more, fresh := size(dice)
				if bytes += more; bytes > 400000 {
					bytes = more
				}
				s.ask(ctx, table, &request{flow: fmt.Sprint("agent ", i), agent: true, bytes: int64(bytes)}, fresh)
				time.Sleep(time.Second)
			}
		})
	}
	for n := 0; ctx.Err() == nil; n++ {
		time.Sleep(30 * time.Second)
		began := time.Now()
		s.ask(ctx, table, &request{flow: "person", bytes: int64(1000 * (n + 1))}, 1000)
		waits = append(waits, time.Since(began)-s.generate)
		if table != nil {
			for _, l := range table.Show(key.Upstream, time.Now())[0].Limits {
				limits = append(limits, l.Limit)
			}
		}
	}
	all.Wait()
	slices.Sort(waits)
	return waits, limits
}

// even is a prompt that grows by four thousand bytes.
func even(*rand.Rand) (bytes, fresh float64) { return 4000, 4000 }

// mixed is one of a few hundred bytes, or of up to a megabyte, half of which is not in the server's cache at times.
func mixed(dice *rand.Rand) (bytes, fresh float64) {
	bytes = 300
	switch n := dice.IntN(10); {
	case n < 3:
		bytes = 100000 + 300000*dice.Float64()
	case n < 6:
		bytes = 5000
	}
	fresh = bytes
	if dice.IntN(5) == 0 {
		fresh += 100000
	}
	return bytes, fresh
}

// As many are answered as without a limit, or nearly so, and the others wait here, where a person goes first. Prompts of
// any size, some of which are in the server's cache, do not look like a queue.
func TestAcquire_AdaptsToAServer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		slots  int
		agents int
		size   func(*rand.Rand) (bytes, fresh float64)
		change func(*server)
		least  float64 // of what is answered without a limit
		faster float64 // so many times is the person answered
	}{
		{"one slot", 1, 20, even, nil, 0.93, 5},
		{"four slots", 4, 40, even, nil, 0.93, 8},
		{"sixteen slots", 16, 100, even, nil, 0.95, 6},
		{"mixed prompts", 4, 40, mixed, nil, 0.9, 6},
		{"mixed prompts that contend", 4, 40, mixed, func(s *server) { s.contends = true }, 0.9, 5},
		{"mixed prompts, more slots", 16, 100, mixed, nil, 0.9, 6},
		{"a short queue", 4, 40, even, func(s *server) { s.refuses = 10 }, 0.93, 15},
		{"fewer agents than slots", 16, 10, mixed, nil, 0.85, 0.5},
		{"a model that is loaded first", 4, 40, mixed, func(s *server) { s.loads = time.Minute }, 0.9, 6},
		{"slower after an hour", 4, 40, mixed, func(s *server) { s.slower = time.Now().Add(time.Hour) }, 0.75, 5},
		{"a batch", 64, 100, mixed, func(s *server) { s.shares = true }, 0.9, 1},
		{"a batch that contends", 64, 100, mixed, func(s *server) { s.shares, s.contends = true, true }, 0.9, 1.5},
	} {
		measure := func(table *ratelimit.Table) (answered int, p95 time.Duration, limits []float64) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(tt.slots)
				if tt.change != nil {
					tt.change(s)
				}
				var waits []time.Duration
				waits, limits = s.overload(t, table, tt.agents, 2*time.Hour, tt.size)
				answered, p95 = s.answered, waits[len(waits)*95/100]
			})
			return answered, p95, limits
		}
		without, waited, _ := measure(nil)
		answered, waits, limits := measure(new(ratelimit.Table))
		slices.Sort(limits)
		if float64(answered) < tt.least*float64(without) || waits.Seconds()*tt.faster > waited.Seconds() {
			t.Errorf("%s: %d answered and a person's wait of %v, want at least %.0f %% of the %d and a wait of %.1f times less than %v without a limit, which was %v at first, %v and %v",
				tt.name, answered, waits, 100*tt.least, without, tt.faster, waited, limits[0], limits[len(limits)/2], limits[len(limits)-1])
		}
	}
}

// A limit that is stated takes the place of the adaptive one.
func TestAcquire_AdaptsToNothingWhereLimitsAreStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		h := http.Header{"X-Ratelimit-Limit-Requests": {"1000"}, "X-Ratelimit-Remaining-Requests": {"999"}, "X-Ratelimit-Reset-Requests": {"60ms"}}
		went := 0
		for i := range 20 {
			go func() {
				c := &ratelimit.Call{Key: key, Request: &request{flow: fmt.Sprint(i)}, Adaptive: true}
				_ = table.Acquire(t.Context(), c)
				went++
				if i == 0 {
					table.Observe(c, http.StatusOK, h)
				}
				<-t.Context().Done()
				table.Close(c)
			}()
			synctest.Wait()
		}
		if went != 20 {
			t.Errorf("%d of 20 requests are sent while none is answered, want all", went)
		}
	})
}

// A request that a breaker holds back takes no place of another.
func TestTable_YieldLetsOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table ratelimit.Table
		var calls []*ratelimit.Call
		for i := range 6 {
			c := &ratelimit.Call{Key: key, Request: &request{flow: fmt.Sprint(i)}, Adaptive: true}
			calls = append(calls, c)
			go func() { _ = table.Acquire(t.Context(), c) }()
			synctest.Wait()
		}
		waiting := func() (n int) {
			for _, c := range calls {
				if _, waits := table.Place(c); waits {
					n++
				}
			}
			return n
		}
		if n := waiting(); n != 2 {
			t.Errorf("%d of 6 wait, want 2", n)
		}
		place, _ := table.Place(calls[5])
		if want := "1 ahead, 4 requests at once in progress, about 0 s"; place.String() != want {
			t.Errorf("the last one: %q, want %q", place, want)
		}
		table.Yield(calls[0])
		if n := waiting(); n != 1 {
			t.Errorf("%d wait after one has yielded, want 1", n)
		}
		table.Resume(calls[0])
		table.Close(calls[1])
		if n := waiting(); n != 1 {
			t.Errorf("%d wait after that one has gone and another has ended, want 1", n)
		}
		table.Tried(calls[2], ratelimit.Failed, time.Second)
		if n := waiting(); n != 0 {
			t.Errorf("%d wait after another has failed, want 0", n)
		}
		for _, c := range calls {
			table.Close(c)
		}
	})
}
