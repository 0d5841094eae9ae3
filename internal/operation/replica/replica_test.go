package replica_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/replica"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
)

const body = `{"model":"claude-sonnet","max_tokens":64,"messages":[{"role":"user","content":"Hi"}],"stream":true}`

// world is a fleet in front of one provider.
type world struct {
	*testing.T
	provider *simulator.Provider
	network  fleet.Network
	cut      atomic.Int64 // the number of a replica that is not reached; 0: all are
	replicas []*member
}

// member is one of its replicas.
type member struct {
	*replica.Replica
	fleet   *fleet.Fleet
	tenants *tenant.Table
	client  *http.Client
}

// newWorld returns a fleet of n whose members know one another.
func newWorld(t *testing.T, n int, script simulator.Script) *world {
	w := &world{T: t, provider: simulator.New(script)}
	w.network.Reaches = func(from, to string) bool {
		cut := fmt.Sprint("r", w.cut.Load())
		return from == to || from != cut && to != cut
	}
	t.Cleanup(func() { _ = w.provider.Close() })
	for i := range n {
		w.replicas = append(w.replicas, w.join(fmt.Sprint("r", i+1)))
	}
	time.Sleep(3 * time.Second)
	return w
}

// join adds a replica.
func (w *world) join(id string) *member {
	m := &member{
		fleet:   fleet.Join(fleet.Config{Name: "test", ID: id, Transport: w.network.Connect(id)}),
		tenants: tenant.New(new(metrics.Registry)),
	}
	m.Replica = replica.New(m.fleet, nil)
	base := &url.URL{Scheme: "http", Host: "provider.test"}
	g, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "anthropic", API: "anthropic", Base: base}}, Policy: policy.Patient(),
		Base: w.provider.Transport(), Fleet: m.Fleet(),
	})
	if err != nil {
		w.Fatalf("new gateway: %v", err)
	}
	m.Join(g, m.tenants)
	pipe := simulator.NewPipe()
	server := &http.Server{Handler: g}
	done := make(chan struct{})
	go func() { _ = server.Serve(pipe); close(done) }()
	m.client = &http.Client{Transport: &http.Transport{DialContext: pipe.DialContext}}
	w.Cleanup(func() {
		m.client.CloseIdleConnections()
		g.Close()
		_ = server.Close()
		<-done
		m.Leave()
		m.fleet.Close()
		time.Sleep(time.Second) // net/http lingers half of that on a connection that it has cut
	})
	return m
}

// ask sends a request, and leaves after some time.
func (m *member) ask(t *testing.T, stay time.Duration, prompt string) (text string) {
	ctx, cancel := context.WithTimeout(t.Context(), stay)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://gateway.test/v1/messages", strings.NewReader(strings.Replace(body, "Hi", prompt, 1)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	all, _ := io.ReadAll(resp.Body)
	return string(all)
}

// outage is one that does not end.
var outage = simulator.Script{Outages: []simulator.Outage{{To: 48 * time.Hour}}}

// hold has each replica hold one request, of which its number is the prompt.
func (w *world) hold(t *testing.T) {
	for i, m := range w.replicas {
		go m.ask(t, time.Minute, fmt.Sprint(i+1))
	}
	time.Sleep(7 * time.Second)
}

func TestReplica_ShowsTheWaitsOfTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, outage)
		begun := time.Now()
		w.hold(t)
		for i, m := range w.replicas {
			waits := m.Waits()
			var ids []int64
			var at []string
			for _, wait := range waits {
				ids, at = append(ids, wait.ID), append(at, wait.Replica)
				if wait.Fault == nil || wait.Fault.Status != 529 || wait.Retries() != 1 || !wait.Due.Equal(begun.Add(15*time.Second)) || !wait.Began.Equal(begun) {
					t.Errorf("at replica %d: %+v, want it due 15 s after %v", i+1, wait, begun)
				}
			}
			slices.Sort(ids)
			slices.Sort(at)
			want := []string{"", "r1", "r2", "r3"}
			want = slices.DeleteFunc(want, func(id string) bool { return id == fmt.Sprint("r", i+1) })
			if len(slices.Compact(ids)) != 3 || !slices.Equal(at, want) {
				t.Errorf("at replica %d: ids %v at %q, want three at %q", i+1, ids, at, want)
			}
		}
		w.cut.Store(3)
		time.Sleep(10 * time.Second)
		if n := len(w.replicas[0].Waits()); n != 2 {
			t.Errorf("without the third replica: %d waits, want 2", n)
		}
	})
}

func TestReplica_ActsAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, outage)
		w.hold(t)
		theirs := w.replicas[2].Gateway.Waits()[0].ID
		if done, err := w.replicas[0].ActAnywhere(t.Context(), theirs, gateway.GiveUp); !done || err != nil {
			t.Errorf("give up at another replica: %v, %v, want it done", done, err)
		}
		synctest.Wait()
		if n := len(w.replicas[2].Gateway.Waits()); n != 0 {
			t.Errorf("there: %d waits, want none", n)
		}
		if done, err := w.replicas[0].ActAnywhere(t.Context(), 4711, gateway.GiveUp); done || err != nil {
			t.Errorf("give up a request that is nowhere: %v, %v, want neither", done, err)
		}
		theirs = w.replicas[1].Gateway.Waits()[0].ID
		w.cut.Store(2)
		begun := time.Now()
		done, err := w.replicas[0].ActAnywhere(t.Context(), theirs, gateway.RetryNow)
		if done || err == nil || !strings.Contains(err.Error(), "no answer in 2s from r2") || time.Since(begun) != 2*time.Second {
			t.Errorf("at a replica that is gone: %v, %v after %v, want an error that names it after 2 s", done, err, time.Since(begun))
		}
	})
}

func TestReplica_ActsOnTheUpstreamOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, outage)
		w.hold(t)
		if !w.replicas[0].ActOn("anthropic", gateway.GiveUp) {
			t.Error("the upstream is unknown")
		}
		time.Sleep(1100 * time.Millisecond)
		if n := len(w.replicas[0].Waits()); n != 0 {
			t.Errorf("%d waits in the fleet a second later, want none", n)
		}
	})
}

// paused returns whether the upstream is paused at each replica.
func (w *world) paused() (all []bool) {
	synctest.Wait()
	for _, m := range w.replicas {
		all = append(all, !m.Upstreams()[0].Breaker.Paused.IsZero())
	}
	return all
}

// A pause holds at all replicas, also at one that starts later or was cut off, and so does its end.
func TestReplica_PauseHoldsInTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, simulator.Script{})
		check := func(when string, want ...bool) {
			t.Helper()
			if got := w.paused(); !slices.Equal(got, want) {
				t.Errorf("%s: paused %v, want %v", when, got, want)
			}
		}
		w.replicas[0].ActOn("anthropic", gateway.Pause)
		check("at once", true, true, true)
		w.replicas = append(w.replicas, w.join("r4"))
		time.Sleep(5 * time.Second)
		check("after another has started", true, true, true, true)
		w.cut.Store(2)
		w.replicas[2].ActOn("anthropic", gateway.Resume)
		time.Sleep(time.Minute)
		check("resumed while the second was cut off", false, true, false, false)
		w.cut.Store(0)
		time.Sleep(5 * time.Second)
		check("after it is there again", false, false, false, false)
	})
}

// A client that one replica turns away continues at another one, in the same wait.
func TestReplica_ClientsComeBackAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, outage)
		begun := time.Now()
		time.AfterFunc(19*time.Second, w.replicas[0].Drain)
		if text := w.replicas[0].ask(t, time.Minute, "Hi"); !strings.Contains(text, "the gateway is shutting down; try again") {
			t.Errorf("at the drained replica: got %q", text)
		}
		time.Sleep(time.Second)
		w.replicas[1].ask(t, 30*time.Second, "Hi")
		var at []time.Duration
		for _, r := range w.provider.Requests() {
			at = append(at, (r.At - 3*time.Second).Round(time.Second))
		}
		want := []time.Duration{0, 5 * time.Second, 15 * time.Second, 45 * time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("tries at %v, want %v; the client was there for %v", at, want, time.Since(begun))
		}
	})
}

func TestReplica_LimitsOfTokensAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, simulator.Script{})
		alice := access.Token{Name: "alice", Limits: access.Limits{Requests: 4}}
		for range 4 {
			if _, refused := w.replicas[0].tenants.Admit(alice, time.Now()); refused != nil {
				t.Fatalf("within the limit: %v", refused)
			}
		}
		time.Sleep(1100 * time.Millisecond)
		if _, refused := w.replicas[1].tenants.Admit(alice, time.Now()); refused == nil {
			t.Error("a second later, at the other replica: no refusal")
		}
	})
}

// The end of the gateway is that of its requests: a replica is served in its place.
func TestReplica_CloseEndsRequestsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, simulator.Script{Then: simulator.Silence{}})
		time.AfterFunc(15*time.Second, w.replicas[0].Close)
		begun := time.Now()
		if text := w.replicas[0].ask(t, time.Minute, "Hi"); !strings.Contains(text, "the gateway is shutting down") || time.Since(begun) != 15*time.Second {
			t.Errorf("after %v: got %q, want the closing error after 15 s", time.Since(begun), text)
		}
	})
}

// keeping returns where a gateway alone in its fleet keeps answers.
func keeping(t *testing.T, kv store.KV) gateway.Answers {
	f := fleet.Join(fleet.Config{Name: "test", ID: "r1", Transport: new(fleet.Network).Connect("r1")})
	t.Cleanup(f.Close)
	return replica.New(f, kv).Fleet().Answers
}

// Answers are kept within a bound, for their time.
func TestReplica_KeepsAnswersWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := keeping(t, store.Memory())
		large := make([]byte, 5<<19)
		keep := func(key string, want bool) {
			t.Helper()
			if err := kept.Keep(t.Context(), key, large, 5*time.Minute); (err == nil) != want {
				t.Errorf("keep %s: %v, want room: %v", key, err, want)
			}
		}
		get := func(key string, want int) {
			t.Helper()
			if answer, err := kept.Get(t.Context(), key); err != nil || len(answer) != want {
				t.Errorf("get %s: %d bytes, %v, want %d", key, len(answer), err, want)
			}
		}
		keep("a", true)
		keep("b", true)
		keep("c", false)
		get("a", len(large))
		get("c", 0)
		kept.Drop("a")
		time.Sleep(time.Second)
		get("a", 0)
		keep("c", true)
		time.Sleep(6 * time.Minute)
		get("b", 0)
		keep("d", true)
		keep("e", true)
	})
}

// An answer is stored in parts: what is read is whole, and nothing of one that was dropped or has expired stays.
func TestReplica_AnswersLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := store.Memory()
		kept := keeping(t, kv)
		check := func(when string, want []byte, entries int) {
			t.Helper()
			got, err := kept.Get(t.Context(), "a")
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, %v, want %d", when, len(got), err, len(want))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			n := 0
			for e := range kv.Watch(ctx, "") {
				if e.Value != nil {
					n++
				}
			}
			if n != entries {
				t.Errorf("%s: %d entries, want %d", when, n, entries)
			}
		}
		keep := func(answer []byte) {
			t.Helper()
			if err := kept.Keep(t.Context(), "a", answer, time.Minute); err != nil {
				t.Fatalf("keep %d bytes: %v", len(answer), err)
			}
		}
		long := bytes.Repeat([]byte("0123456789"), 10<<10) // of three parts
		keep(long)
		check("a long one", long, 4)
		keep([]byte("short"))
		check("a short one in its place", []byte("short"), 2)
		kept.Drop("a")
		time.Sleep(time.Second)
		check("dropped", nil, 0)
		keep(long)
		time.Sleep(2 * time.Minute)
		check("expired", nil, 0)
	})
}

// away is a store of entries that does not answer.
type away struct{ store.KV }

func (away) Get(context.Context, string) (store.Entry, error) {
	return store.Entry{}, store.ErrUnavailable
}

func TestReplica_StoreThatDoesNotAnswerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := keeping(t, away{})
		if _, err := kept.Get(t.Context(), "a"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("get: %v, want ErrUnavailable", err)
		}
		if err := kept.Keep(t.Context(), "a", []byte("text"), time.Minute); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("keep: %v, want ErrUnavailable", err)
		}
	})
}
