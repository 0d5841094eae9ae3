package gateway_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// replicas are gateways of a fleet, in front of one provider.
type replicas struct {
	t        *testing.T
	provider *simulator.Provider
	all      []*harness

	mu   sync.Mutex
	told [][]byte
	deaf bool // entries are lost
}

// newReplicas returns n gateways that live.
func newReplicas(t *testing.T, n int, p policy.Policy, script simulator.Script) *replicas {
	f := &replicas{t: t, provider: simulator.New(script)}
	t.Cleanup(func() { _ = f.provider.Close() })
	for i := range n {
		w := newHarnessWith(t, gateway.Config{
			Upstreams: everything(address("provider.test")), Policy: p, Base: f.provider.Transport(),
			Fleet: &gateway.Fleet{Replica: fmt.Sprint("r", i), Tell: f.tell},
		})
		w.provider = f.provider
		f.all = append(f.all, w)
	}
	f.live(n)
	return f
}

// live has only the first n gateways live.
func (f *replicas) live(n int) {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint("r", i))
	}
	for _, w := range f.all[:n] {
		w.gateway.SetMembers(ids)
	}
}

// hear says whether the gateways hear of each other.
func (f *replicas) hear(hear bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf = !hear
}

// tell has all gateways hear an entry.
func (f *replicas) tell(entry []byte) {
	f.mu.Lock()
	f.told = append(f.told, entry)
	deaf := f.deaf
	f.mu.Unlock()
	for _, w := range f.all {
		if !deaf {
			w.gateway.Hear(entry)
		}
	}
}

// tries returns when the provider was asked.
func (f *replicas) tries() (at []time.Duration) {
	for _, r := range f.provider.Requests() {
		at = append(at, r.At)
	}
	return at
}

// seconds returns durations of so many seconds.
func seconds(all ...int) (d []time.Duration) {
	for _, n := range all {
		d = append(d, time.Duration(n)*time.Second)
	}
	return d
}

// A request that comes back at another gateway goes on in the wait in which its client left: the tries are those of one
// run.
func TestFleet_ComesBackAtAnotherGateway(t *testing.T) {
	for _, tt := range []struct {
		name    string
		leave   func(*replicas) // 20 s after the request was sent, and a second before it comes back
		headers []string        // of the request that comes back, besides those of the first
		goesOn  bool
	}{
		{"a gateway that is drained", func(f *replicas) { f.all[0].gateway.Drain() }, nil, true},
		{"a client that leaves", nil, nil, true},
		{"a gateway that is killed, a client that says that it sends again", func(f *replicas) { f.hear(false) }, []string{"X-Stainless-Retry-Count", "1"}, true},
		{"a gateway that is killed, a client that does not", func(f *replicas) { f.hear(false) }, nil, false},
		{"a gateway that is killed, and known to be", func(f *replicas) {
			f.hear(false)
			f.all[1].gateway.SetMembers([]string{"r1"})
		}, nil, true},
		{"another key", nil, []string{"Authorization", "Bearer 2"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newReplicas(t, 2, policy.Patient(), outage(48*time.Hour))
			stay := 20 * time.Second
			if tt.leave != nil {
				time.AfterFunc(stay-time.Millisecond, func() { tt.leave(f) })
			}
			f.all[0].leaveAfter(stay, responses, codexTurn) // tries at 0, 5 and 15 s
			time.Sleep(time.Second)
			f.all[1].leaveAfter(30*time.Second, responses, codexAgain, tt.headers...)
			want := seconds(0, 5, 15, 45)
			if !tt.goesOn {
				want = seconds(0, 5, 15, 21, 26, 36)
			}
			if got := f.tries(); !slices.Equal(got, want) {
				t.Errorf("%s: tries at %v, want %v", tt.name, got, want)
			}
		})
	}
}

// unevenStay is how long a client waits the n-th time: about ten minutes.
func unevenStay(n int) time.Duration { return 10*time.Minute + time.Duration(n*n%11)*time.Second }

// The budget is one for all stays, wherever they are. Stays differ by a few seconds, or every third try would be made
// at the instant at which the client leaves, and again a second later if the client was first.
func TestFleet_BudgetIsOneForAllGateways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReplicas(t, 3, policy.Patient(), outage(48*time.Hour))
		begun := time.Now()
		for i := 0; time.Since(begun) < 9*time.Hour; i++ {
			f.all[i%3].leaveAfter(unevenStay(i), messages, claude)
			time.Sleep(time.Second)
		}
		alone := newReplicas(t, 1, policy.Patient(), outage(48*time.Hour))
		begun = time.Now()
		for i := 0; time.Since(begun) < 9*time.Hour; i++ {
			alone.all[0].leaveAfter(unevenStay(i), messages, claude)
			time.Sleep(time.Second)
		}
		if got, want := len(f.tries()), len(alone.tries()); got > want*11/10 || got < want*9/10 {
			t.Errorf("with three gateways in turn: %d tries, want about %d as with one", got, want)
		}
	})
}

// After a give-up the agents' own retries are refused at every gateway.
func TestFleet_GivenUpIsRefusedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReplicas(t, 2, policy.Simple(), outage(48*time.Hour))
		_, _, _ = f.all[0].get(responses, codexTurn)
		before, gaveUp := len(f.tries()), time.Now()
		resp, text, err := f.all[1].get(responses, codexAgain)
		if err != nil || resp.StatusCode != 529 || resp.Header.Get("X-Should-Retry") != "false" || !strings.Contains(text, "the same request has just been given up") {
			t.Errorf("%d %q, %v; want the refusal with status 529", resp.StatusCode, text, err)
		}
		if n := len(f.tries()) - before; n != 0 || time.Since(gaveUp) != 0 {
			t.Errorf("%d further requests in %v, want none at once", n, time.Since(gaveUp))
		}
	})
}

// A gateway that comes later learns what is held, with what is left of the wait.
func TestFleet_NewcomerLearnsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReplicas(t, 2, policy.Patient(), outage(48*time.Hour))
		f.hear(false)
		f.live(1)
		time.AfterFunc(18*time.Second, func() {
			f.hear(true)
			f.live(2)
		})
		f.all[0].leaveAfter(20*time.Second, messages, claude)
		time.Sleep(time.Second)
		f.all[1].leaveAfter(30*time.Second, messages, claude)
		if got, want := f.tries(), seconds(0, 5, 15, 45); !slices.Equal(got, want) {
			t.Errorf("tries at %v, want %v", got, want)
		}
	})
}

// Nothing is told of requests that are answered at once, nothing of what is in one that waits, and nothing is left of
// one that was answered.
func TestFleet_TellsNothingOfWhatIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReplicas(t, 2, policy.Patient(), simulator.Script{Replies: []simulator.Reply{simulator.OK{}, simulator.Status{Code: 529}}})
		_, _, _ = f.all[0].get(messages, claude)
		if n := len(f.told); n > 0 {
			t.Errorf("after an answer without a fault: %d entries were told, want none", n)
		}
		_, _, _ = f.all[0].get(messages, claude, "X-Api-Key", "sk-ant-very-secret-key")
		if len(f.told) != 2 || !bytes.Contains(f.told[0], []byte(`"state":"held"`)) || !bytes.Contains(f.told[1], []byte(`"state":"over"`)) {
			t.Errorf("of an answer after a fault: told %s, want held and over", f.told)
		}
		for _, secret := range []string{"sk-ant", `"Hi"`, "claude-sonnet", `T00:`} {
			if all := bytes.Join(f.told, nil); bytes.Contains(all, []byte(secret)) {
				t.Errorf("%q is told: %s", secret, all)
			}
		}
		if n := f.all[1].gateway.Away(); n != 0 {
			t.Errorf("the other gateway knows %d requests, want none", n)
		}
	})
}

func TestHear_IgnoresWhatIsNoEntry(t *testing.T) {
	g := newGateway(t, gateway.Config{Fleet: &gateway.Fleet{Replica: "r", Tell: func([]byte) {}}})
	for _, entry := range []string{"", "{", "{}", `{"key":"short","state":"held","fault":{"kind":"overloaded"},"until":1e12}`, `[]`} {
		g.Hear([]byte(entry))
	}
	if n := g.Away(); n != 0 {
		t.Errorf("%d requests are known, want none", n)
	}
}

// A request that comes back at another gateway has the place there that its wait so far gives it.
func TestFleet_ComesBackToItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy.Patient()
		p.Quota = policy.Quota{Wait: policy.QuotaUntilReset, Max: time.Hour}
		f := newReplicas(t, 2, p, simulator.Script{Replies: []simulator.Reply{simulator.SpentWindow{For: 2 * time.Minute}}})
		ask := func(at, n int, stay time.Duration) {
			f.all[at].leaveAfter(stay, messages, strings.Replace(claude, "Hi", fmt.Sprint("number ", n), 1))
		}
		go ask(0, 0, time.Minute)
		var others sync.WaitGroup
		for n := range 12 {
			time.Sleep(time.Second)
			others.Go(func() { ask(1, n+1, time.Hour) })
		}
		time.Sleep(time.Minute)
		ask(1, 0, time.Hour)
		others.Wait()
		var order []string
		for _, r := range f.provider.Requests() {
			if r.Outcome == "ok" {
				_, text, _ := strings.Cut(string(r.Body), `"number `)
				n, _, _ := strings.Cut(text, `"`)
				order = append(order, n)
			}
		}
		if at := slices.Index(order, "0"); len(order) != 13 || at < 0 || at > 2 {
			t.Errorf("answered in the order %v, want 0 soon after the first probe", order)
		}
	})
}
