package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// answerStore keeps answers for the gateways of a test.
type answerStore struct {
	mu   sync.Mutex
	all  map[string][]byte
	gets int
	away bool
}

func (a *answerStore) Keep(_ context.Context, key string, answer []byte, _ time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return errors.New("away")
	}
	if a.all == nil {
		a.all = map[string][]byte{}
	}
	a.all[key] = answer
	return nil
}

func (a *answerStore) Get(_ context.Context, key string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gets++
	if a.away {
		return nil, errors.New("away")
	}
	return a.all[key], nil
}

func (a *answerStore) Drop(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, key)
}

// change changes it.
func (a *answerStore) change(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// one returns the answer that it has.
func (a *answerStore) one() (answer []byte) {
	a.change(func() {
		for _, answer = range a.all {
		}
	})
	return answer
}

// newKeepers returns two gateways that keep the answers for clients that have left, for both of them.
func newKeepers(t *testing.T, p *slowly, kept *answerStore) *replicas {
	return newFleetOf(t, p, kept, kept)
}

// newFleetOf returns a gateway for each store, in which it keeps the answers for clients that have left.
func newFleetOf(t *testing.T, p *slowly, kept ...gateway.Answers) *replicas {
	f := &replicas{t: t}
	for _, answers := range kept {
		f.all = append(f.all, newHarnessWith(t, gateway.Config{
			Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: p, Detached: everyAgent,
			Fleet: f.fleet(answers),
		}))
	}
	f.live(len(kept))
	return f
}

const replayed = "X-Ridethrough-Replayed"

// A client that has left comes back at another gateway, and is given the answer that it has left, once.
func TestFleet_AnswerIsThereAtAnotherGateway(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(f *replicas, kept *answerStore) // it comes back
		header []string
		asked  int
	}{
		{"all is well", func(*replicas, *answerStore) {}, nil, 1},
		{"the gateway that has read it was killed", func(f *replicas, _ *answerStore) {
			f.hear(false)
			f.all[0].gateway.Close()
			f.live(0)
		}, nil, 1},
		{"the store is away", func(_ *replicas, kept *answerStore) { kept.change(func() { kept.away = true }) }, nil, 2},
		{"another sender", func(*replicas, *answerStore) {}, []string{"X-Api-Key", "sk-other"}, 2},
		{"another sender, whose answer the store mixes up with this one", func(f *replicas, kept *answerStore) {
			first := kept.one()
			f.all[0].leaveAfter(3500*time.Millisecond, messages, claude, "X-Api-Key", "sk-other")
			time.Sleep(20 * time.Second)
			kept.change(func() {
				for key := range kept.all {
					kept.all[key] = first
				}
			})
		}, []string{"X-Api-Key", "sk-other"}, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, kept := aMessage(), &answerStore{}
			f := newKeepers(t, p, kept)
			f.all[0].leaveAfter(3500*time.Millisecond, messages, claude)
			time.Sleep(20 * time.Second)
			tt.before(f, kept)
			resp, text, err := f.all[1].get(messages, claude, tt.header...)
			if err != nil || text != p.said() || p.asked != tt.asked || (resp.Header.Get(replayed) == "true") != (tt.asked == 1) {
				t.Errorf("%s: %v %q, %v after %d requests; want the whole answer after %d", tt.name, resp.Header, text, err, p.asked, tt.asked)
			}
		})
	}
}

// Once delivered at any gateway, it is given to no other request.
func TestFleet_AnswerIsGivenOnce(t *testing.T) {
	for first := range 2 {
		synctest.Test(t, func(t *testing.T) {
			p, kept := aMessage(), &answerStore{}
			f := newKeepers(t, p, kept)
			f.all[0].leaveAfter(3500*time.Millisecond, messages, claude)
			time.Sleep(20 * time.Second)
			for i, at := range []int{first, 0, 1} {
				resp, _, err := f.all[at].get(messages, claude)
				if err != nil || p.asked != i+1 || (resp.Header.Get(replayed) == "true") != (i == 0) {
					t.Errorf("delivered at %d, request %d: %v, %v after %d requests upstream; want it given once", first, i, resp.Header, err, p.asked)
				}
			}
			synctest.Wait()
			if kept.one() != nil || f.known() != 0 {
				t.Errorf("delivered at %d: %d bytes are left, %d answers are known", first, len(kept.one()), f.known())
			}
		})
	}
}

// A gateway that joins later learns of the answer. No gateway looks for an answer that is not known to be there, and
// neither the fleet's messages nor the store reveals the content.
func TestFleet_AnswersAreAskedForWhereTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// What is looked for is too long to be met in random bytes by chance.
		asks := strings.Replace(claude, "Hi", "What is my balance?", 1)
		p, kept := aMessage(), &answerStore{}
		f := newKeepers(t, p, kept)
		f.live(1)
		for range 3 {
			_, _, _ = f.all[1].get(messages, asks)
		}
		f.hear(false)
		f.all[0].leaveAfter(3500*time.Millisecond, messages, asks, "X-Api-Key", "sk-secret")
		time.Sleep(20 * time.Second)
		f.hear(true)
		synctest.Wait()
		if kept.gets != 0 {
			t.Errorf("%d answers were asked for, want none for requests that were not sent before", kept.gets)
		}
		f.live(2)
		other := strings.Replace(asks, "my", "our", 1)
		_, _, _ = f.all[1].get(messages, other, "X-Api-Key", "sk-secret")
		if kept.gets != 0 {
			t.Errorf("%d answers were asked for by another request of the same sender, want none", kept.gets)
		}
		asked := p.asked
		first := kept.one()
		if resp, text, err := f.all[1].get(messages, asks, "X-Api-Key", "sk-secret"); err != nil || text != p.said() || p.asked != asked || resp.Header.Get(replayed) == "" {
			t.Errorf("at a gateway that came later: %q, %v after %d further requests; want the answer", text, err, p.asked-asked)
		}
		told, _ := json.Marshal(f.told)
		for _, all := range [][]byte{told, first} {
			for _, secret := range []string{"sk-secret", "balance", "message_stop", "claude"} {
				if bytes.Contains(all, []byte(secret)) {
					t.Errorf("%q is told: %s", secret, all)
				}
			}
		}
	})
}

// unshared returns the events that say so at a gateway.
func (w *harness) unshared() (all []gateway.Unshared) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.all {
		if e.Unshared != nil {
			all = append(all, *e.Unshared)
		}
	}
	return all
}

// A gateway that cannot keep an answer for the fleet says that it has it alone. A client that comes back at another one
// learns that its request is sent again.
func TestFleet_AnswerThatIsNotForAllIsSaidToBe(t *testing.T) {
	for back := range 2 {
		synctest.Test(t, func(t *testing.T) {
			p, kept := aMessage(), &answerStore{away: true}
			f := newKeepers(t, p, kept)
			f.all[0].leaveAfter(3500*time.Millisecond, messages, claude)
			time.Sleep(20 * time.Second)
			if got := f.all[0].unshared(); len(got) != 1 || got[0].Replica != "" || got[0].Err == nil || got[0].Err.Error() != "away" {
				t.Errorf("the gateway that has read the answer says %+v, want once that the store is away", got)
			}
			resp, text, err := f.all[back].get(messages, claude)
			want := []string{"true", "false"}[back]
			if err != nil || text != p.said() || resp.Header.Get(replayed) != want || p.asked != 1+back {
				t.Errorf("back at gateway %d: %s %q, %v, %q after %d requests; want %q", back, replayed, resp.Header.Get(replayed), err, text, p.asked, want)
			}
			if got := f.all[1].unshared(); back == 1 && (len(got) != 1 || got[0].Replica != "r0" || got[0].Err != nil) {
				t.Errorf("the other gateway says %+v, want that r0 has the answer", got)
			}
			synctest.Wait()
			for i := range 2 {
				if resp, _, err := f.all[i].get(messages, claude); err != nil || resp.Header.Get(replayed) != "" {
					t.Errorf("the next request, at gateway %d: %s %q, %v; want an answer of its own", i, replayed, resp.Header.Get(replayed), err)
				}
			}
		})
	}
}

// A client also learns that its request is sent again if the answer is kept for the fleet but cannot be read now.
func TestFleet_AnswerThatCannotBeHadIsSentAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, kept := aMessage(), &answerStore{}
		f := newKeepers(t, p, kept)
		f.all[0].leaveAfter(3500*time.Millisecond, messages, claude)
		time.Sleep(20 * time.Second)
		kept.change(func() { kept.away = true })
		resp, _, err := f.all[1].get(messages, claude)
		got := f.all[1].unshared()
		if err != nil || resp.Header.Get(replayed) != "false" || len(got) != 1 || got[0].Replica != "r0" || got[0].Err == nil {
			t.Errorf("while the store is away: %s %q, %v, and the events %+v; want that it is sent anew", replayed, resp.Header.Get(replayed), err, got)
		}
	})
}

// A gateway without the fleet's answers sends a request again although another one has answered it.
func TestFleet_GatewayWithoutAnswersSendsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, kept := aMessage(), &answerStore{}
		f := newFleetOf(t, p, kept, nil)
		f.all[0].leaveAfter(3500*time.Millisecond, messages, claude)
		time.Sleep(20 * time.Second)
		for range 2 {
			if _, text, err := f.all[1].get(messages, claude); err != nil || text != p.said() {
				t.Errorf("back at the other gateway: %q, %v; want an answer of its own", text, err)
			}
		}
	})
}
