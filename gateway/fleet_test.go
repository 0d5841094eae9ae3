package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	outcomes []*outcomes

	mu     sync.Mutex        // outcomes too
	told   []gateway.Outcome // that were put; the zero one: that one was deleted
	deaf   bool              // what is put is lost
	living int               // the number of gateways that live
}

// outcomes is what one of them knows, or what an earlier process has left. It implements gateway.Outcomes.
type outcomes struct {
	f     *replicas
	index int
	all   map[string]outcome
}

// outcome is one of them.
type outcome struct {
	gateway.Outcome
	at, until time.Time
	by        int
}

func (o *outcomes) Put(key string, one gateway.Outcome, ttl time.Duration) {
	now := time.Now()
	o.f.set(o.index, key, outcome{one, now, now.Add(ttl), o.index})
}

func (o *outcomes) Delete(key string) {
	if _, _, known := o.Lookup(key); !known {
		return
	}
	o.f.set(o.index, key, outcome{})
	for i, w := range o.f.all {
		if i != o.index && !o.f.isDeaf() {
			w.gateway.Delivered(key)
		}
	}
}

func (o *outcomes) Lookup(key string) (gateway.Outcome, time.Time, bool) {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	got := o.all[key]
	return got.Outcome, got.at, got.until.After(time.Now())
}

func (o *outcomes) Knows(scope string) bool {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	for key, got := range o.all {
		if strings.HasPrefix(key, scope) && got.by != o.index {
			return true
		}
	}
	return false
}

// fleet returns the fleet of the next gateway.
func (f *replicas) fleet(answers gateway.Answers) *gateway.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := &outcomes{f: f, index: len(f.outcomes), all: map[string]outcome{}}
	f.outcomes = append(f.outcomes, o)
	return &gateway.Fleet{
		Replica: fmt.Sprint("r", o.index), Outcomes: o, Answers: answers,
		Lives: func(replica string) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.Contains([]string{"r0", "r1", "r2"}[:f.living], replica)
		},
	}
}

// newReplicas returns n gateways that live.
func newReplicas(t *testing.T, n int, p policy.Policy, script simulator.Script) *replicas {
	f := &replicas{t: t, provider: simulator.New(script)}
	t.Cleanup(func() { _ = f.provider.Close() })
	for range n {
		w := newHarnessWith(t, gateway.Config{
			Upstreams: everything(address("provider.test")), Policy: p, Base: f.provider.Transport(), Fleet: f.fleet(nil),
		})
		w.provider = f.provider
		f.all = append(f.all, w)
	}
	f.live(n)
	return f
}

// live has only the first n gateways live. A newcomer gets what the first one knows.
func (f *replicas) live(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := max(f.living, 1); i < n && !f.deaf; i++ {
		maps.Copy(f.outcomes[i].all, f.outcomes[0].all)
	}
	f.living = n
}

// hear says whether the gateways hear of each other.
func (f *replicas) hear(hear bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf = !hear
}

func (f *replicas) isDeaf() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deaf
}

// set has all gateways know an outcome; the zero one: that it was deleted.
func (f *replicas) set(by int, key string, o outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, o.Outcome)
	for i, to := range f.outcomes {
		switch {
		case f.deaf && i != by:
		case o.until.IsZero():
			delete(to.all, key)
		default:
			to.all[key] = o
		}
	}
}

// known returns how many outcomes the gateways know.
func (f *replicas) known() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.outcomes {
		n += len(o.all)
	}
	return n
}

// tries returns when the provider was asked.
func (f *replicas) tries() (at []time.Duration) {
	for _, r := range f.provider.Requests() {
		at = append(at, r.At)
	}
	return at
}

// seconds converts numbers of seconds to durations.
func seconds(all ...int) (d []time.Duration) {
	for _, n := range all {
		d = append(d, time.Duration(n)*time.Second)
	}
	return d
}

// A request that comes back at another gateway resumes the wait in which its client left: the tries are those of one
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
			f.live(0)
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

// Gateways share nothing about requests that are answered at once, nothing of the content of one that waits, and keep
// nothing of one that was answered.
func TestFleet_TellsNothingOfWhatIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReplicas(t, 2, policy.Patient(), simulator.Script{Replies: []simulator.Reply{simulator.OK, simulator.Status{Code: 529}}})
		_, _, _ = f.all[0].get(messages, claude)
		if n := len(f.told); n > 0 {
			t.Errorf("after an answer without a fault: %d entries were told, want none", n)
		}
		_, _, _ = f.all[0].get(messages, claude, "X-Api-Key", "sk-ant-very-secret-key")
		if len(f.told) != 2 || f.told[0].State != "held" || f.told[1].State != "" {
			t.Errorf("of an answer after a fault: told %+v, want held, and that it is deleted", f.told)
		}
		for _, secret := range []string{"sk-ant", `"Hi"`, "claude-sonnet"} {
			if all, err := json.Marshal(f.told); err != nil || bytes.Contains(all, []byte(secret)) {
				t.Errorf("%q is told: %s, %v", secret, all, err)
			}
		}
		if n := f.known(); n != 0 {
			t.Errorf("the gateways know %d outcomes, want none", n)
		}
	})
}

// What another version has put is left alone, or is within bounds, and a client that comes back is served.
func TestFleet_IgnoresOutcomesThatAreNone(t *testing.T) {
	for _, text := range []string{
		"{}", `{"From":"x","State":"held","Last":{"Fault":{"Kind":"overloaded"}}}`,
		`{"From":"x","State":"new","Last":{"Fault":{"Kind":"overloaded"}},"Until":"2000-01-02T00:00:00Z"}`,
		`{"From":"x","State":"failed","Until":"2000-01-02T00:00:00Z","Latest":"1900-01-01T00:00:00Z"}`,
		`{"From":"x","State":"left","Last":{"Fault":{"Kind":"new"},"Run":{"tries":-7},"Limit":-1,"Waited":-5},"Until":"2000-01-02T00:00:00Z","Stayed":0,"Silence":2678400000000000}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newReplicas(t, 2, policy.Patient(), simulator.Script{Replies: []simulator.Reply{simulator.Status{Code: 529}}})
			f.all[0].leaveAfter(time.Second, messages, claude)
			f.mu.Lock()
			for key, o := range f.outcomes[1].all {
				o.Outcome = gateway.Outcome{}
				if err := json.Unmarshal([]byte(text), &o.Outcome); err != nil {
					t.Fatalf("read outcome: %v", err)
				}
				f.outcomes[1].all[key] = o
			}
			f.mu.Unlock()
			began := time.Now()
			if resp, answer, err := f.all[1].get(messages, claude); err != nil || resp.StatusCode != 200 || time.Since(began) > 10*time.Second {
				t.Errorf("%s: %v %q after %v, want an answer within ten seconds", text, err, answer, time.Since(began))
			}
		})
	}
}

// A request that comes back at another gateway has the place there that its wait so far gives it.
func TestFleet_ComesBackToItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy.Patient()
		p.Quota = policy.Quota{Wait: policy.QuotaUntilReset, Max: time.Hour}
		answers := simulator.Silence{For: 100 * time.Millisecond} // first: what all wait for is not over in the instant in which it ends
		f := newReplicas(t, 2, p, simulator.Script{Replies: []simulator.Reply{simulator.SpentWindow{For: 2 * time.Minute}}, Then: answers})
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
			if r.Outcome == answers.String() {
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

// restarts returns a gateway, and one that knows what it has told until it is killed.
func restarts(t *testing.T, p policy.Policy, script simulator.Script) (before *harness, restart func() *harness) {
	provider := simulator.New(script)
	t.Cleanup(func() { _ = provider.Close() })
	f := &replicas{t: t}
	start := func() *harness {
		fleet := f.fleet(nil)
		fleet.Lives = nil
		w := newHarnessWith(t, gateway.Config{Upstreams: everything(address("provider.test")), Policy: p, Base: provider.Transport(), Fleet: fleet})
		w.provider = provider
		return w
	}
	before = start()
	return before, func() *harness {
		w := start()
		f.mu.Lock()
		defer f.mu.Unlock()
		maps.Copy(f.outcomes[1].all, f.outcomes[0].all)
		f.deaf = true
		return w
	}
}

// A request that comes back after a restart continues in the wait that its client has lost.
func TestGateway_RecallsWaitsOfAnEarlierProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, restart := restarts(t, policy.Patient(), outage(48*time.Hour))
		restarted := make(chan *harness, 1)
		time.AfterFunc(20*time.Second, func() { restarted <- restart() }) // before the client has left: it is killed
		w.leaveAfter(21*time.Second, responses, codexTurn)
		time.Sleep(time.Second)
		(<-restarted).leaveAfter(30*time.Second, responses, codexAgain)
		var got []time.Duration
		for _, r := range w.provider.Requests() {
			got = append(got, r.At)
		}
		if want := seconds(0, 5, 15, 45); !slices.Equal(got, want) {
			t.Errorf("tries: got %v, want %v, as without the restart", got, want)
		}
	})
}

// The time of not-after is that of the day on which a call began to wait, also where it comes back later than that.
func TestGateway_KeepsNotAfterOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spent := simulator.SpentWindow{For: 55 * time.Minute}
		script := simulator.Script{Replies: []simulator.Reply{spent, spent}}
		p, latest := untilReset(policy.Patient()), time.Now().Add(time.Hour)
		p.Quota.Windows, p.Quota.NotAfter = 2, time.Duration(latest.Hour())*time.Hour+time.Duration(latest.Minute())*time.Minute
		w, restart := restarts(t, p, script)
		restarted := make(chan *harness, 1)
		time.AfterFunc(50*time.Minute, func() { restarted <- restart() }) // before the client has left: it is killed
		w.leaveAfter(50*time.Minute+time.Second, messages, claude)
		time.Sleep(12 * time.Minute)
		back := time.Now()
		_, text, _ := (<-restarted).get(messages, claude)
		if took := time.Since(back); took > time.Minute || strings.Contains(text, "say.") {
			t.Errorf("after %v: got %s, want the end at once: the window opens after the first day's time", took, text)
		}
	})
}

// The usage windows that a call has waited for count after a restart: of three, each of an hour, it waits for two.
func TestGateway_CountsUsageWindowsOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var script simulator.Script
		for n := range 3 {
			from := time.Duration(n) * time.Hour
			script.Outages = append(script.Outages, simulator.Outage{From: from, To: from + time.Hour, Reply: simulator.SpentWindow{For: time.Hour}})
		}
		p := untilReset(policy.Patient())
		p.Quota.Windows = 2
		w, restart := restarts(t, p, script)
		restarted := make(chan *harness, 1)
		time.AfterFunc(90*time.Minute, func() { restarted <- restart() })
		w.leaveAfter(90*time.Minute+time.Second, messages, claude)
		_, text, _ := (<-restarted).get(messages, claude)
		if took := time.Since(w.begun); took < 119*time.Minute || took > 125*time.Minute || strings.Contains(text, "say.") {
			t.Errorf("after %v: got %s, want the end at the third window, two hours after the begin", took, text)
		}
	})
}
