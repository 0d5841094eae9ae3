package conversation_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

// parkedTurns returns the waiting turns in short.
func parkedTurns(h *conversation.Runner) string {
	var b strings.Builder
	all, n := h.Waits(100)
	fmt.Fprintf(&b, "%d:", n)
	for _, p := range all {
		state := "waits"
		if p.Trying {
			state = "tries"
		}
		fmt.Fprintf(&b, " %s %s %d", p.Turn, state, p.Run.Tries-1)
	}
	return b.String()
}

// waitingAt counts the turns that wait for a provider.
func waitingAt(h *conversation.Runner, provider string) int {
	for _, u := range h.Upstreams() {
		if u.Breaker.Name == provider {
			return u.Waiting
		}
	}
	return 0
}

// failing returns answers that fail, and then others.
func failing(n int, then ...llmtest.Answer) []llmtest.Answer {
	var all []llmtest.Answer
	for range n {
		all = append(all, llmtest.Fails(busy))
	}
	return append(all, then...)
}

func (h *fixture) speak(runner *conversation.Runner, conversation, id string) {
	h.t.Helper()
	if _, err := runner.Submit(h.t.Context(), conversation, id, "hello"); err != nil {
		h.t.Fatalf("submit: %v", err)
	}
}

func TestWaits_ListsTurnUntilAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, failing(5, llmtest.Late(time.Minute, llmtest.Says("hi")))...)
		runner, _ := h.runner()
		c, err := runner.Create(t.Context(), "", conversation.Settings{Model: "acme/large", Title: "Files"})
		if err != nil {
			t.Fatalf("create: %v", err)
		}
		began := time.Now()
		h.speak(runner, c, "t1")
		synctest.Wait()
		all, n := runner.Waits(10)
		want := conversation.Wait{
			Conversation: c, Title: "Files", Turn: "t1", Began: began.UTC(),
			Retry: turn.Retry{Name: large, Wait: policy.Wait{
				Run:     policy.Run{Tries: 1, Slept: 5 * time.Second, Started: began.UTC()},
				Fault:   &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"},
				Verdict: policy.Verdict{Wait: 5 * time.Second},
				Due:     began.Add(5 * time.Second).UTC(), Limit: policy.Unlimited, Deadline: all[0].Deadline,
			}},
		}
		if diff := cmp.Diff([]conversation.Wait{want}, all); diff != "" || n != 1 {
			t.Errorf("Waits: %d in all, want 1; the oldest (-want +got):\n%s", n, diff)
		}
		for _, c := range []struct {
			after time.Duration
			want  string
		}{
			{6 * time.Second, "1: t1 waits 1"},   // 10 s
			{102 * time.Second, "1: t1 waits 4"}, // behind 10, 30 and 60 s, for 5 min, held by no worker
			{304 * time.Second, "1: t1 tries 4"},
			{61 * time.Second, "0:"},
		} {
			time.Sleep(c.after)
			synctest.Wait()
			if got := parkedTurns(runner); got != c.want {
				t.Errorf("%v: %s, want %s", time.Since(began), got, c.want)
			}
		}
	})
}

func TestWaits_IncludesEarlierWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, end := h.runner()
		h.model = &u
		short, long, steered, idle := h.create(runner), h.create(runner), h.create(runner), h.create(runner)
		h.speak(runner, long, "long")
		h.speak(runner, steered, "steered")
		time.Sleep(time.Hour)
		h.speak(runner, short, "short")
		h.speak(runner, steered, "more") // the last word is not about the wait
		h.speak(runner, idle, "taken")
		synctest.Wait()
		if err := runner.Stop(t.Context(), idle, ""); err != nil {
			t.Fatalf("stop: %v", err)
		}
		time.Sleep(time.Second)
		want := parkedTurns(runner)
		if !strings.HasPrefix(want, "3: ") || !strings.Contains(want, " long waits ") || !strings.Contains(want, " steered waits ") || !strings.HasSuffix(want, " short waits 0") {
			t.Errorf("waits: got %s, want long, steered and short", want)
		}
		end()
		other, _ := h.runner()
		synctest.Wait()
		if got := parkedTurns(other); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if n := waitingAt(other, "acme"); n != 3 {
			t.Errorf("turns waiting for acme: got %d, want 3", n)
		}
		u.up.Store(true)
		other.RetryAll(t.Context(), "acme")
		time.Sleep(time.Minute)
		if got := parkedTurns(other); got != "0:" || waitingAt(other, "acme") != 0 {
			t.Errorf("when it is back: %s", got)
		}
	})
}

func TestWaits_IncludesOtherRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, failing(8, llmtest.Says("hi"))...)
		runner, _ := h.runner()
		other, _ := h.runner()
		idler := conversation.New(conversation.Config{Store: h.engine}) // it does not run, and knows nothing
		synctest.Wait()
		h.speak(runner, h.create(runner), "t1")
		for range 80 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if mine, yours := parkedTurns(runner), parkedTurns(other); mine != yours {
				t.Fatalf("%s and %s", mine, yours)
			}
		}
		if got := parkedTurns(runner); got != "0:" {
			t.Errorf("waits: got %s, want none", got)
		}
		if got := parkedTurns(idler); got != "0:" {
			t.Errorf("waits of the idle runner: got %s, want none", got)
		}
	})
}

func TestWaits_DropsStoppedAndDeletedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, _ := h.runner()
		other, _ := h.runner()
		h.model = &u
		stopped, deleted, kept := h.create(runner), h.create(runner), h.create(runner)
		for i, c := range []string{stopped, deleted, kept} {
			h.speak(runner, c, fmt.Sprint("t", i))
		}
		time.Sleep(time.Hour)
		if err := runner.Stop(t.Context(), stopped, ""); err != nil {
			t.Fatalf("stop: %v", err)
		}
		if err := runner.Delete(t.Context(), deleted); err != nil {
			t.Fatalf("delete: %v", err)
		}
		time.Sleep(time.Second)
		if got := parkedTurns(runner); !strings.HasPrefix(got, "1: t2 ") || parkedTurns(other) != got {
			t.Errorf("%s and %s", got, parkedTurns(other))
		}
		if err := other.StopAll(t.Context(), "else"); err != nil || !strings.HasPrefix(parkedTurns(runner), "1:") {
			t.Error("those of another provider are stopped", err)
		}
		if err := other.StopAll(t.Context(), "acme"); err != nil {
			t.Fatalf("stop all: %v", err)
		}
		time.Sleep(time.Second)
		if got := parkedTurns(runner); got != "0:" || turnOf(t, runner, kept) != "" {
			t.Errorf("waits: got %s, want none and no turn in progress", got)
		}
	})
}

func TestWaits_ListsOldestAndCountsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		park := func(id string, began time.Time) {
			body := fmt.Appendf(nil, `{"run":{"tries":3,"slept":1,"started":%q},"due":%q,"event":{"provider":"acme","model":"large","kind":"overloaded","message":"busy"}}`,
				began.Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			_, err := h.engine.Append(t.Context(), id, store.Position{},
				store.Record{Time: began, Type: "conversation-created", Body: []byte(`{"format":1,"model":"acme/large"}`)},
				store.Record{Time: began, Turn: "t", Type: "turn-parked", Body: body})
			if err != nil {
				t.Fatalf("append: %v", err)
			}
		}
		for i := range 1000 {
			park(fmt.Sprint("c", i), time.Now().Add(-time.Duration(i*7919%1000)*time.Minute))
		}
		runner, _ := h.runner()
		synctest.Wait()
		all, n := runner.Waits(10)
		if len(all) != 10 || n != 1000 || waitingAt(runner, "acme") != 1000 {
			t.Fatalf("waits: got %d of %d, want 10 of 1000", len(all), n)
		}
		for i, p := range all {
			if want := time.Now().Add(-time.Duration(999-i) * time.Minute); !p.Began.Equal(want) {
				t.Errorf("%d: %v, want %v", i, p.Began, want)
			}
		}
	})
}

func TestConfig_OnEventGetsTriesAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		h := newFixture(t, append(failing(2, llmtest.Late(3*time.Second, llmtest.Says("hi"))), failing(1, llmtest.Hangs())...)...)
		h.config.OnEvent = func(e conversation.Event) {
			mu.Lock()
			defer mu.Unlock()
			var line string
			switch b := e.Event.(type) {
			case turn.Start:
				line = "begins"
			case turn.Retry:
				line = "waits " + b.Fault.Kind.String()
			case turn.Recovered:
				line = fmt.Sprintf("recovered %d in %v", b.Retries, b.Waited.Round(time.Second))
			case turn.Sealed:
				line = fmt.Sprintf("%s after %d, waited %t", b.Status, b.RetryCount, e.Waited)
			default:
				line = fmt.Sprintf("tried %v", e.Try.Took.Round(time.Second))
				if e.Try.Fault != nil {
					line += " " + e.Try.Fault.Kind.String()
				}
			}
			if e.Name != large || e.At.IsZero() {
				t.Errorf("%+v", e)
			}
			told = append(told, line)
		}
		runner, _ := h.runner()
		c := h.create(runner)
		h.speak(runner, c, "t1")
		follow(t, runner, c, 0, 1)
		synctest.Wait() // the end is told after it is kept, maybe when the next turn has begun
		h.speak(runner, c, "t2")
		time.Sleep(10 * time.Second)
		if err := runner.Stop(t.Context(), c, ""); err != nil {
			t.Fatalf("stop: %v", err)
		}
		time.Sleep(time.Second)
		want := "begins, tried 0s overloaded, waits overloaded, tried 0s overloaded, waits overloaded, tried 3s, recovered 2 in 15s, " +
			"done after 2, waited false, begins, tried 0s overloaded, waits overloaded, aborted after 1, waited true"
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("events:\n got %s\nwant %s", got, want)
		}
	})
}

func TestUpstreams_ListsAskedProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, _ := h.runner()
		if got := runner.Upstreams(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		u.wait(t, h, runner, 3)
		if got := runner.Upstreams(); len(got) != 1 || got[0].Breaker.Name != "acme" || got[0].Waiting != 3 || len(got[0].Breaker.Outages) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A hundred thousand turns wait, and one after the other is taken up and waits
// again while a client reads.
func BenchmarkWaits_100000(b *testing.B) {
	kept := store.Memory()
	defer func() { _ = kept.Close(context.Background()) }()
	now := time.Now().UTC()
	for i := range 100_000 {
		began := now.Add(-time.Duration(i*7919%100_000) * time.Second)
		body := fmt.Appendf(nil, `{"run":{"tries":3,"slept":1,"started":%q},"due":%q,"event":{"provider":"acme","model":"large","kind":"overloaded","message":"busy"}}`,
			began.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
		_, err := kept.Append(b.Context(), fmt.Sprint("c", i), store.Position{},
			store.Record{Time: began, Type: "conversation-created", Body: []byte(`{"format":1,"model":"acme/large"}`)},
			store.Record{Time: began, Turn: "t", Type: "turn-parked", Body: body})
		if err != nil {
			b.Fatalf("append: %v", err)
		}
	}
	runner := conversation.New(conversation.Config{Store: kept})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = runner.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	for waitingAt(runner, "acme") < 100_000 {
		if err := ctx.Err(); err != nil {
			b.Fatalf("waiting turns not found: %v", err)
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		runner.Waits(500 + n%2) // another list than the last one
	}
}

// deafStore is a store without messages about waiting turns, but those of the test,
// and gets no turn.
type deafStore struct {
	store.Store
	heard chan store.Message
}

func (d *deafStore) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	if topic != "waits" {
		return d.Store.Subscribe(ctx, topic)
	}
	context.AfterFunc(ctx, func() { close(d.heard) })
	return d.heard, nil
}

func (d *deafStore) Take(ctx context.Context) (store.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestWaits_SearchesStoreAfterGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, failing(3, llmtest.Says("hi"), llmtest.Fails(busy))...)
		runner, _ := h.runner()
		h.speak(runner, h.create(runner), "t1")
		synctest.Wait()
		d := &deafStore{h.engine, make(chan store.Message)}
		h.config.Store = d
		other, _ := h.runner()
		synctest.Wait()
		if got := parkedTurns(other); got != "1: t1 waits 0" {
			t.Errorf("waits: got %s, want t1", got)
		}
		time.Sleep(2 * time.Minute)
		h.speak(runner, h.create(runner), "t2")
		synctest.Wait()
		if got := parkedTurns(other); got != "1: t1 waits 0" {
			t.Errorf("it has heard something: %s", got)
		}
		d.heard <- store.Message{Gap: true}
		synctest.Wait()
		if mine, yours := parkedTurns(runner), parkedTurns(other); mine != "1: t2 waits 0" || yours != mine {
			t.Errorf("%s, %s", mine, yours)
		}
	})
}
