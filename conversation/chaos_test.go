package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
)

// errDead is what a runner hears whose process has died: whatever it tries, it
// does nothing any more.
var errDead = errors.New("the process is dead")

// dyingStore is a store as one process sees it, until that dies. An append
// in progress may have happened all the same.
type dyingStore struct {
	store.Store
	dead atomic.Bool
	last atomic.Bool // the process dies with its next append
}

func (m *dyingStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if m.dead.Load() {
		return store.Position{}, errDead
	}
	end, err := m.Store.Append(ctx, c, at, records...)
	if m.last.Load() {
		m.dead.Store(true)
		return store.Position{}, errDead
	}
	return end, err
}

func (m *dyingStore) Enqueue(ctx context.Context, t store.Job) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Enqueue(ctx, t)
}

func (m *dyingStore) Schedule(ctx context.Context, t store.Job, at time.Time) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Schedule(ctx, t, at)
}

func (m *dyingStore) Take(ctx context.Context) (store.Lease, error) {
	c, err := m.Store.Take(ctx)
	if err == nil && m.dead.Load() { // it was never taken
		_ = c.Nack(0)
		<-ctx.Done()
		return nil, errDead
	}
	return dyingLease{c, m}, err
}

type dyingLease struct {
	store.Lease
	m *dyingStore
}

func (c dyingLease) Extend() error { return c.unless(c.Lease.Extend) }
func (c dyingLease) Ack() error    { return c.unless(c.Lease.Ack) }

func (c dyingLease) Nack(d time.Duration) error {
	return c.unless(func() error { return c.Lease.Nack(d) })
}

func (c dyingLease) unless(do func() error) error {
	if c.m.dead.Load() {
		return errDead
	}
	return do()
}

// chaos is a provider, tools and runners that all fail at random.
type chaos struct {
	t      *testing.T
	talks  int // conversations
	engine store.Store

	mu    sync.Mutex
	dice  *rand.Rand
	calls int
	wrong []string
}

func (c *chaos) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.IntN(n)
}

func (c *chaos) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// Name and Stream make it a model.
func (c *chaos) Name() llm.Name { return large }

func (c *chaos) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	var answer llmtest.Answer
	switch c.roll(10) {
	case 0, 1, 2:
		answer = llmtest.Fails(busy)
	case 3:
		answer = llmtest.Fails(&fault.Error{Kind: fault.RateLimited, Status: 429, Wait: time.Duration(c.roll(200)) * time.Second})
	case 4:
		answer = llmtest.Breaks("half an answer", &fault.Error{Kind: fault.Truncated, Message: "it broke off"})
	case 5, 6:
		answer = c.callsTools()
	default:
		answer = llmtest.Late(time.Duration(c.roll(60))*time.Second, llmtest.Says("a whole answer"))
	}
	return answer(ctx, q)
}

// callsTools returns an answer with calls that there was never one like.
func (c *chaos) callsTools() llmtest.Answer {
	var calls []llm.ToolCall
	for range 1 + c.roll(3) {
		c.mu.Lock()
		c.calls++
		id := fmt.Sprint("call-", c.calls)
		c.mu.Unlock()
		calls = append(calls, llmtest.Call(id, "work", `{"id":"`+id+`"}`))
	}
	return llmtest.Calls(calls...)
}

// handle is a tool that must not run when its result is in the log.
func (c *chaos) work(conversation string) tool.Tool {
	return tool.Tool{Tool: llm.Tool{Name: "work"}, Func: func(ctx context.Context, arguments json.RawMessage) (string, error) {
		var in struct{ ID string }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", err
		}
		for r, err := range c.engine.Read(ctx, conversation, 0) {
			var result struct{ ID string }
			if err == nil && r.Type == "tool-result" && json.Unmarshal(r.Body, &result) == nil && result.ID == in.ID {
				c.complain("%s ran after its result was logged", in.ID)
			}
		}
		return "done", pause(ctx, time.Duration(c.roll(20))*time.Second)
	}}
}

// pause takes some time.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// start starts a runner in a process of its own. kill ends it without a word.
func (c *chaos) start() (kill func()) {
	m := &dyingStore{Store: c.engine}
	runner := conversation.New(conversation.Config{Store: m, Agent: func(_ context.Context, s conversation.Settings) (agent.Agent, error) {
		if c.roll(20) == 0 {
			return agent.Agent{}, errors.New("the model is lost")
		}
		w := agent.Agent{Model: c, Tools: []tool.Tool{c.work(s.Title)}}
		w.Retry.Policy = policy.Patient()
		return w, nil
	}})
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = runner.Run(ctx) }()
	return func() {
		m.last.Store(c.roll(2) == 0)
		m.dead.Store(!m.last.Load())
		cancel()
		<-done
		m.dead.Store(true)
	}
}

// 200 turns, three runners of which one dies every seven seconds at first: every
// turn that was accepted is sealed once, no log has a hole, no tool runs after
// its result was logged, and attempts are counted through it all.
func TestRunner_EveryAcceptedTurnIsSealedOnce(t *testing.T) { everyTurnIsSealed(t, 2, 0) }

// The same while conversations are paused and resumed at random, by processes of which half die with their record.
func TestPause_EveryAcceptedTurnIsSealedOnce(t *testing.T) { everyTurnIsSealed(t, 1, 40) }

// fewerSeeds returns how many seeds a test has: with -short one, since more tell the race detector nothing new.
func fewerSeeds(n uint64) uint64 {
	if testing.Short() {
		return 1
	}
	return n
}

// everyTurnIsSealed runs 200 turns in chaos, once for each seed. In the first steps conversations are paused and
// resumed. With -short there are 40 turns, which under the race detector take seconds.
func everyTurnIsSealed(t *testing.T, seeds uint64, pauses int) {
	talks := 40
	if testing.Short() {
		talks = 8
	}
	for seed := range fewerSeeds(seeds) {
		synctest.Test(t, func(t *testing.T) {
			c := &chaos{t: t, talks: talks, engine: store.Memory(), dice: rand.New(rand.NewPCG(seed, 7))}
			defer c.engine.Close(context.Background())
			desk := conversation.New(conversation.Config{Store: c.engine})
			accepted := map[string][]string{}
			for n := range talks {
				id := fmt.Sprint("talk-", n)
				if _, err := desk.Create(t.Context(), id, conversation.Settings{Title: id}); err != nil {
					t.Fatalf("create: %v", err)
				}
				for range 5 {
					said, err := desk.Submit(t.Context(), id, "", "go on")
					if err != nil {
						t.Fatalf("submit: %v", err)
					}
					accepted[id] = append(accepted[id], said)
				}
			}
			kills := []func(){c.start(), c.start(), c.start()}
			for n := 0; n < 400 && (n <= pauses || !c.sealed(accepted)); n++ {
				switch {
				case n < pauses:
					c.pauseSome(n)
				case n == pauses:
					c.resumeAll(desk, accepted)
				}
				time.Sleep(time.Duration(1+c.roll(14)*(1+n)) * time.Second)
				victim := c.roll(3)
				kills[victim]()
				kills[victim] = c.start()
			}
			for _, kill := range kills {
				kill()
			}
			c.check(accepted)
			if len(c.wrong) > 0 {
				h, _ := c.engine.Health(t.Context())
				t.Logf("health %+v", h)
				for r := range c.engine.Read(t.Context(), strings.SplitN(c.wrong[0], ":", 2)[0], 0) {
					t.Logf("%d %v %s %s %.150s", r.N, r.Time.Format("15:04:05.000"), r.Turn, r.Type, r.Body)
				}
				t.Errorf("seed %d: %d wrong, such as %.2000q", seed, len(c.wrong), c.wrong)
			}
		})
	}
}

// pauseSome pauses or resumes some conversations, each by a process of its own.
func (c *chaos) pauseSome(n int) {
	for range 8 {
		m := &dyingStore{Store: c.engine}
		m.last.Store(c.roll(2) == 0)
		r, id := conversation.New(conversation.Config{Store: m}), fmt.Sprint("talk-", c.roll(c.talks))
		do := r.Pause
		if c.roll(5) < 2 {
			do = r.Resume
		}
		if err := do(c.t.Context(), id); err != nil && !errors.Is(err, errDead) {
			c.complain("%s: pause or resume in step %d: %v", id, n, err)
		}
	}
}

// resumeAll resumes the conversations that are paused. Those whose process has died as it resumed them are not.
func (c *chaos) resumeAll(r *conversation.Runner, accepted map[string][]string) {
	for id := range accepted {
		v, err := r.Get(c.t.Context(), id)
		if err == nil && !v.Paused.IsZero() {
			err = r.Resume(c.t.Context(), id)
		}
		if err != nil {
			c.complain("%s: resume: %v", id, err)
		}
	}
}

// sealed reports whether no conversation has anything left to do.
func (c *chaos) sealed(accepted map[string][]string) bool {
	h, err := c.engine.Health(c.t.Context())
	return err == nil && h.Scheduled+h.Due+h.Leased == 0
}

// check looks at what has become of it all.
func (c *chaos) check(accepted map[string][]string) {
	for conversation, turns := range accepted {
		seals, n, tries, workers, seen := map[string]int{}, int64(0), 0, 0, map[string]int64{}
		for r, err := range c.engine.Read(c.t.Context(), conversation, 0) {
			if err != nil {
				c.complain("%s: %v", conversation, err)
				break
			}
			if n++; r.N != n {
				c.complain("%s: record %d where %d should be", conversation, r.N, n)
			}
			if seals[r.Turn] > 0 {
				c.complain("%s: record %d, %s, of a turn that was sealed", conversation, n, r.Type)
			}
			key := r.Type + r.Turn + string(r.Body)
			switch r.Type {
			case "turn-running":
				workers++
			case "tool-call": // the next worker runs it again, if it has no result
				key += fmt.Sprint(workers)
			}
			if !mayRepeat(r) && seen[key] > 0 {
				c.complain("%s: record %d, %s, is record %d again: %.100s", conversation, n, r.Type, seen[key], r.Body)
			} else {
				seen[key] = n
			}
			switch r.Type {
			case "turn-sealed":
				seals[r.Turn]++
				tries = 0
			case "assistant-message":
				tries = 0
			case "turn-parked":
				var p struct{ Run policy.Run }
				if json.Unmarshal(r.Body, &p) != nil || p.Run.Tries != tries+1 {
					c.complain("%s, record %d: try %d after %d", conversation, n, p.Run.Tries, tries)
				}
				tries = p.Run.Tries
			}
		}
		for _, id := range turns {
			if seals[id] != 1 {
				c.complain("%s: %s was sealed %d times", conversation, id, seals[id])
			}
		}
	}
}

// mayRepeat reports whether a turn may have a record several times, each with the same content.
func mayRepeat(r store.Record) bool {
	switch r.Type {
	case "usage", "turn-restarted", "turn-released", "turn-survived", "conversation-paused", "conversation-resumed":
		return true
	case "assistant-message":
		return strings.Contains(string(r.Body), `"partial":true`)
	}
	return false
}
