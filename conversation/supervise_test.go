package conversation_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// process runs a runner in a process of its own. kill ends it without a word.
func (h *fixture) process() (kill func()) {
	m := &dyingStore{Store: h.engine}
	config := h.config
	config.Store = m
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = conversation.New(config).Run(ctx) }()
	return func() { m.dead.Store(true); cancel(); <-done }
}

// workload is a model that takes its time. Whatever process asks it about poison is to die.
type workload struct {
	latency func() time.Duration
	dying   chan struct{}
}

func (*workload) Name() llm.Name { return large }

func (m *workload) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	if q.Messages[len(q.Messages)-1].Content.Text() == "poison" {
		time.AfterFunc(time.Second, func() {
			select {
			case m.dying <- struct{}{}:
			default:
			}
		})
		return llmtest.Hangs()(ctx, q)
	}
	return llmtest.Late(m.latency(), llmtest.Says("a whole answer"))(ctx, q)
}

// askEach submits a text to each of n new conversations.
func (h *fixture) askEach(n int, text string) (ids []string) {
	desk := conversation.New(h.config)
	for i := range n {
		id, err := desk.Create(h.t.Context(), fmt.Sprintf("%s-%d", text, i), conversation.Settings{})
		if err != nil {
			h.t.Fatalf("create: %v", err)
		}
		h.say(desk, id, text)
		ids = append(ids, id)
	}
	return ids
}

// ends counts how the turns of conversations have ended; "": they have not.
func (h *fixture) ends(ids []string) map[turn.Status]int {
	desk, all := conversation.New(h.config), map[turn.Status]int{}
	for _, id := range ids {
		all[""]++
		for _, status := range turns(h.t, desk, id) {
			all[status]++
			all[""]--
		}
	}
	maps.DeleteFunc(all, func(_ turn.Status, n int) bool { return n == 0 })
	return all
}

// A process that dies again and again shortly after its start, for a reason of its own, fails no turn.
func TestRunner_CrashLoopFailsNoTurn(t *testing.T) {
	for seed := range fewerSeeds(3) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			h := newFixture(t)
			h.model = &workload{latency: func() time.Duration { return 20 * time.Second }}
			ids := h.askEach(20, "hello")
			for range 300 {
				kill := h.process()
				time.Sleep(500*time.Millisecond + time.Duration(dice.Int64N(1500e6)))
				kill()
			}
			h.process()
			time.Sleep(time.Hour)
			if got := h.ends(ids); got[turn.Done] != 20 {
				t.Errorf("seed %d: got ends %v, want 20 done", seed, got)
			}
		})
	}
}

// A turn that kills its process soon after each claim is failed. The turns beside it are answered, though they
// need longer than the processes live.
func TestRunner_PoisonousTurnIsSealedFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &workload{latency: func() time.Duration { return 20 * time.Second }, dying: make(chan struct{}, 1)}
		h := newFixture(t)
		h.model = m
		innocent, poison := h.askEach(20, "hello"), h.askEach(1, "poison")
		after := h.say(conversation.New(h.config), poison[0], "hello")
		deaths := 0
		for deaths < 100 && h.ends(poison)[turn.Failed] == 0 {
			kill := h.process()
			select {
			case <-m.dying:
				deaths++
			case <-time.After(5 * time.Minute):
			}
			kill()
			time.Sleep(2 * time.Second)
		}
		if deaths != 11 {
			t.Errorf("got %d deaths until the turn was sealed, want 11", deaths)
		}
		h.process()
		time.Sleep(10 * time.Minute)
		runner := conversation.New(h.config)
		if got := turns(t, runner, poison[0]); got[after] != turn.Done {
			t.Errorf("next turn: got ends %v, want it done", got)
		}
		got := follow(t, runner, poison[0], 0, 1)
		want := "error: the process that worked on this turn died 11 times in a row, each time within seconds of taking it up"
		if !slices.Contains(got, want) || !strings.HasPrefix(got[len(got)-1], "sealed failed") {
			t.Errorf("poisonous turn: got %q, want %q and sealed failed", got, want)
		}
		if got := h.ends(innocent); got[turn.Done] != 20 {
			t.Errorf("other turns: got ends %v, want 20 done", got)
		}
	})
}

// Deaths count only soon after a claim, and a worker that lives for ten minutes clears its turn.
func TestRunner_OnlyDeathsSoonAfterClaimCount(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lives []time.Duration // of the processes, again and again
		times int
	}{
		{"a minute each", []time.Duration{time.Minute}, 30},
		{"nine short and a long one", append(slices.Repeat([]time.Duration{time.Minute / 2}, 9), 15*time.Minute), 60},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t)
			h.model = &workload{latency: func() time.Duration { return 20 * time.Minute }}
			ids := h.askEach(1, "hello")
			for n := range tt.times {
				kill := h.process()
				time.Sleep(tt.lives[n%len(tt.lives)])
				kill()
			}
			h.process()
			time.Sleep(time.Hour)
			if got := h.ends(ids); got[turn.Done] != 1 {
				t.Errorf("%s: got ends %v, want the turn done", tt.name, got)
			}
		})
	}
}

func TestConfig_SupervisorSetsWaitsAndTheirNumber(t *testing.T) {
	for _, tt := range []struct {
		supervisor policy.Policy
		took       time.Duration
	}{
		{policy.Policy{}, 0},
		{policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t)
			h.model = panics{}
			h.config.Supervisor = func() policy.Policy { return tt.supervisor }
			var told []string
			h.config.OnEvent = func(e conversation.Event) {
				if r, ok := e.Event.(turn.Retry); ok {
					told = append(told, fmt.Sprintf("%s %d/%d in %v: %s", r.Fault.Code, r.Wait.Retry(), r.Limit, r.Verdict.Wait, r.Fault.Message))
				}
			}
			runner, end := h.runner()
			defer end()
			c, began := h.create(runner), time.Now()
			h.say(runner, c, "hello")
			got := strings.Join(follow(t, runner, c, 0, 1), "\n")
			waits := strings.Count(got, "\nretry ")
			if want := []string{"worker 1/2 in 1m0s: panic: no", "worker 2/2 in 1m0s: panic: no"}[:tt.supervisor.Retries]; !slices.Equal(told, want) || waits != len(want) {
				t.Errorf("%d retries: OnEvent got waits %q, readers %d; want %q for both; events:\n%s", tt.supervisor.Retries, told, waits, want, got)
			}
			if failed := turns(t, runner, c); len(failed) != 1 || !slices.Contains(slices.Collect(maps.Values(failed)), turn.Failed) || time.Since(began) != tt.took || !strings.Contains(got, "error: panic: no") {
				t.Errorf("%d retries: turns %v after %v, want one failed after %v; events:\n%s", tt.supervisor.Retries, failed, time.Since(began), tt.took, got)
			}
		})
	}
}

func TestSupervisor_WaitIsShownToALateReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.model = panics{}
		h.config.Supervisor = func() policy.Policy {
			return policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}
		}
		runner, end := h.runner()
		defer end()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(20 * time.Second)
		if got, want := firstEvent(t, runner, c), "retry 0 in 40s: panic: no"; got != want {
			t.Errorf("a reader that comes late first gets %q; want %q", got, want)
		}
	})
}

func TestRunner_GetHasTheWaitForAnotherWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.model = panics{}
		h.config.Supervisor = func() policy.Policy {
			return policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}}
		}
		runner, end := h.runner()
		defer end()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(20 * time.Second)
		v, err := runner.Get(t.Context(), c)
		if err != nil || v.Wait == nil || v.Wait.Fault.Code != turn.WorkerFailed || time.Until(v.Wait.Due) != 40*time.Second {
			t.Errorf("wait of a turn whose worker has failed: got %+v and error %v, want one with the code %q for 40 s", v.Wait, err, turn.WorkerFailed)
		}
	})
}
