package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
)

// wantMembers checks which replicas a replica knows to live, by their ids in a row.
func wantMembers(t *testing.T, when string, f *fleet.Fleet, connected bool, want string) {
	t.Helper()
	s := f.Status()
	if got := strings.Join(s.Members, ""); got != want || s.Connected != connected {
		t.Errorf("%s: replica %s has members %q, connected %v; want %q, %v", when, f.ID, got, s.Connected, want, connected)
	}
}

// join joins replicas a, b, c … by a network.
func join(t *testing.T, n *fleet.Network, number int) []*fleet.Fleet {
	t.Helper()
	all := make([]*fleet.Fleet, number)
	for i := range all {
		id := string(rune('a' + i))
		all[i] = fleet.Join(fleet.Config{Name: "main", ID: id, Transport: n.Connect(id)})
		t.Cleanup(all[i].Close)
	}
	return all
}

func TestFleet_KnowsWhoLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fleet.Network{Delay: func() time.Duration { return 20 * time.Millisecond }}
		all := join(t, n, 3)
		wantMembers(t, "before anything is heard", all[0], false, "a")
		time.Sleep(time.Second)
		for _, f := range all {
			wantMembers(t, "after a second", f, true, "abc")
		}
		all[1].Close()
		time.Sleep(50 * time.Millisecond)
		wantMembers(t, "when b has left", all[0], true, "ac")
	})
}

func TestFleet_NewcomerLearnsWhoLivesWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fleet.Network{}
		all := join(t, n, 3)
		time.Sleep(time.Minute)
		late := fleet.Join(fleet.Config{Name: "main", ID: "z", Transport: n.Connect("z")})
		defer late.Close()
		other := fleet.Join(fleet.Config{Name: "other", ID: "o", Transport: n.Connect("o")})
		defer other.Close()
		time.Sleep(600 * time.Millisecond)
		wantMembers(t, "the newcomer", late, true, "abcz")
		wantMembers(t, "an older one", all[0], true, "abcz")
		wantMembers(t, "another fleet's", other, true, "o")
	})
}

func TestFleet_SilentReplicaIsGoneAfterSixSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dead atomic.Bool
		n := &fleet.Network{Reaches: func(from, _ string) bool { return !dead.Load() || from != "b" }}
		all := join(t, n, 3)
		time.Sleep(10 * time.Second)
		dead.Store(true)
		time.Sleep(3 * time.Second)
		wantMembers(t, "3 s after b has died", all[0], true, "abc")
		time.Sleep(6 * time.Second)
		wantMembers(t, "9 s after b has died", all[0], true, "ac")
		wantMembers(t, "b itself", all[1], false, "b")
		dead.Store(false)
		time.Sleep(3 * time.Second)
		wantMembers(t, "b back", all[1], true, "abc")
	})
}

func TestFleet_WithoutAConnectionItIsAloneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		n := &fleet.Network{Reaches: func(string, string) bool { return !down.Load() }}
		all := join(t, n, 2)
		var changes atomic.Int64
		all[0].OnChange(func() { changes.Add(1) })
		time.Sleep(time.Minute)
		wantMembers(t, "no connection from the start", all[0], false, "a")
		down.Store(false)
		time.Sleep(3 * time.Second)
		wantMembers(t, "the connection has come", all[0], true, "ab")
		down.Store(true)
		if err := all[0].Send("news", 1); err == nil {
			t.Error("send without a connection: no error")
		}
		wantMembers(t, "as a message could not be sent", all[0], false, "a")
		synctest.Wait()
		if got := changes.Load(); got != 3 {
			t.Errorf("%d changes, want 3: connected, b has come, connection lost", got)
		}
	})
}

func TestFleet_RejoiningIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var sent, busiest, second atomic.Int64
		n := &fleet.Network{Reaches: func(from, to string) bool { return !down.Load() }}
		const number = 20
		for i := range number {
			id := fmt.Sprint("r", i)
			f := fleet.Join(fleet.Config{Name: "main", ID: id, Transport: counting{n.Connect(id), &sent}})
			defer f.Close()
		}
		time.Sleep(10 * time.Second)
		down.Store(true)
		time.Sleep(time.Minute)
		down.Store(false)
		sent.Store(0)
		for range 50 {
			before := sent.Load()
			time.Sleep(100 * time.Millisecond)
			busiest.Store(max(busiest.Load(), sent.Load()-before))
			second.Add(1)
		}
		if got := sent.Load(); got > 5*number {
			t.Errorf("%d messages in the 5 s after the connection was back, want at most %d: a sign of life each 2 s and a greeting", got, 5*number)
		}
		if got := busiest.Load(); got > number {
			t.Errorf("%d messages within 100 ms, want at most %d", got, number)
		}
	})
}

// counting counts what is published.
type counting struct {
	fleet.Transport
	n *atomic.Int64
}

func (c counting) Publish(topic string, data []byte) error {
	c.n.Add(1)
	return c.Transport.Publish(topic, data)
}

// note is a message of the tests.
type note struct{ Text string }

func TestFleet_MessagesReachAllOthersOrOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := join(t, &fleet.Network{}, 3)
		var mu sync.Mutex
		var got []string
		for _, f := range all {
			fleet.On(f, "note", func(from string, n note) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, from+">"+f.ID+" "+n.Text)
			})
		}
		_ = all[0].Send("note", note{"all"})
		_ = all[1].SendTo("c", "note", note{"one"})
		_ = all[1].Send("note", "no note")
		_ = all[1].Send("unknown", note{"x"})
		if err := all[1].Send("note", note{strings.Repeat("x", 1<<20)}); err != fleet.ErrTooLarge {
			t.Errorf("send of 1 MiB: got %v, want %v", err, fleet.ErrTooLarge)
		}
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(got)
		if want := "a>b all,a>c all,b>c one"; strings.Join(got, ",") != want {
			t.Errorf("received %v, want %s", got, want)
		}
	})
}

func TestFleet_LossAndDelayAreSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		luck := rand.New(rand.NewPCG(1, 2))
		draw := func() float64 { mu.Lock(); defer mu.Unlock(); return luck.Float64() }
		n := &fleet.Network{
			Delay: func() time.Duration { return time.Duration(draw() * float64(300*time.Millisecond)) },
			Lost:  func() bool { return draw() < 0.1 },
		}
		all := join(t, n, 5)
		time.Sleep(10 * time.Second)
		lost := 0
		for range 300 {
			time.Sleep(time.Second)
			for _, f := range all {
				if f.Number() < 5 {
					lost++
				}
			}
		}
		if lost > 45 { // 3 %
			t.Errorf("with 10 %% of messages lost, a replica was missed in %d of 1500 looks, want at most 45", lost)
		}
	})
}

func TestNewID_IsSafeInSubjects(t *testing.T) {
	for _, host := range []string{"", "gw-0", "Host.internal", "über 1", strings.Repeat("x", 300)} {
		id := fleet.NewID(host)
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`).MatchString(id) {
			t.Errorf("id %q of host %q: want letters, digits, - and _, and 60 at most", id, host)
		}
		if id == fleet.NewID(host) {
			t.Errorf("two ids of host %q are the same", host)
		}
	}
}
