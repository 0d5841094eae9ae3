package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
)

// hookStore is a store that calls functions before and after operations.
type hookStore struct {
	store.Store
	before func(kind string)     // an append; kind is that of its first record
	after  func(kind string)     // one that has succeeded
	offer  func(store.Job) error // nil: every offer is taken
	live   func(data []byte)     // before a message is published; nil: none
}

func (m *hookStore) Publish(ctx context.Context, topic string, data []byte) error {
	if m.live != nil {
		m.live(data)
	}
	return m.Store.Publish(ctx, topic, data)
}

func (m *hookStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if m.before != nil {
		m.before(records[0].Type)
	}
	end, err := m.Store.Append(ctx, c, at, records...)
	if err == nil && m.after != nil {
		m.after(records[0].Type)
	}
	return end, err
}

func (m *hookStore) Enqueue(ctx context.Context, t store.Job) error {
	if m.offer != nil {
		if err := m.offer(t); err != nil {
			return err
		}
	}
	return m.Store.Enqueue(ctx, t)
}

// hookStore puts a hookStore between the runners and their store. It is the store that runners see.
func (h *fixture) hookStore() *hookStore {
	m := &hookStore{Store: h.engine}
	h.config.Store = m
	return m
}

// once returns a function that does something the n-th time a kind of record
// comes.
func once(kind string, n int32, do func()) func(string) {
	var seen atomic.Int32
	return func(k string) {
		if k == kind && seen.Add(1) == n {
			do()
		}
	}
}

// kinds returns the types of all records of a conversation.
func kinds(t *testing.T, e store.Store, c string) (all []string) {
	t.Helper()
	for r, err := range e.Read(t.Context(), c, 0) {
		if err != nil {
			t.Errorf("read: %v", err)
		}
		all = append(all, r.Type)
	}
	return all
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

func TestRunner_TurnThatNeverBeginsIsSealedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.before = func() error { return errors.New("no such model here") }
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(3 * time.Hour)
		all := kinds(t, h.engine, c)
		if count(all, "turn-sealed") != 1 || count(all, "turn-start") != 1 {
			t.Errorf("%q", all)
		}
		if v, _ := runner.Get(t.Context(), c); v.Turn != "" || len(v.Inputs) > 0 {
			t.Errorf("%+v", v)
		}
	})
}

func TestStop_TurnBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("two"))
		var lost atomic.Bool
		lost.Store(true)
		h.before = func() error {
			if lost.Load() {
				return errors.New("no such model here")
			}
			return nil
		}
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "1")
		h.say(runner, c, "2")
		time.Sleep(time.Second)
		lost.Store(false)
		if err := runner.Stop(t.Context(), c, ""); err != nil {
			t.Fatalf("stop: %v", err)
		}
		expect(t, mute(follow(t, runner, c, 0, 2)), `
			queued: 1
			queued: 2
			turn-start
			user: 1
			sealed aborted, 0 retries, 0ms
			turn-start
			user: 2
			model: two
			usage
			sealed done, 0 retries, 0ms`)
	})
}

func TestSubmit_KeepsOrderOfInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three"))
		desk := conversation.New(h.config)
		c := h.create(desk)
		for _, text := range []string{"1", "2", "3"} {
			h.say(desk, c, text)
		}
		first, err := h.engine.Take(t.Context()) // comes last
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		runner, _ := h.runner()
		synctest.Wait()
		_ = first.Nack(0)
		var said []string
		for _, line := range follow(t, runner, c, 0, 3) {
			if strings.HasPrefix(line, "user: ") {
				said = append(said, line)
			}
		}
		if !slices.Equal(said, []string{"user: 1", "user: 2", "user: 3"}) {
			t.Errorf("%q", said)
		}
	})
}

func TestStop_WhileTurnIsParked(t *testing.T) {
	for name, place := range map[string]func(*hookStore, func(string)){
		"before it is noted": func(m *hookStore, f func(string)) { m.before = f },
		"after it was noted": func(m *hookStore, f func(string)) { m.after = f },
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 9)...)
			m := h.hookStore()
			runner, _ := h.runner()
			c := h.create(runner)
			var stopped time.Time
			place(m, once("turn-parked", 7, func() {
				stopped = time.Now()
				if err := runner.Stop(t.Context(), c, ""); err != nil {
					t.Errorf("stop: %v", err)
				}
			}))
			h.say(runner, c, "hello")
			got := follow(t, runner, c, 0, 1)
			if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed aborted") || time.Since(stopped) > time.Second {
				t.Errorf("%s: %q after %v", name, last, time.Since(stopped))
			}
		})
	}
}

func TestStop_WhileTurnIsClaimed(t *testing.T) {
	for name, place := range map[string]func(*hookStore, func(string)){
		"before it is noted": func(m *hookStore, f func(string)) { m.before = f },
		"after it was noted": func(m *hookStore, f func(string)) { m.after = f },
	} {
		synctest.Test(t, func(t *testing.T) {
			fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 5)
			h := newFixture(t, append(fails, llmtest.Hangs())...)
			m := h.hookStore()
			runner, _ := h.runner()
			c := h.create(runner)
			var stopped time.Time
			place(m, once("turn-running", 2, func() {
				stopped = time.Now()
				if err := runner.Stop(t.Context(), c, ""); err != nil {
					t.Errorf("stop: %v", err)
				}
			}))
			h.say(runner, c, "hello")
			time.Sleep(time.Hour)
			all := kinds(t, h.engine, c)
			v, _ := runner.Get(t.Context(), c)
			if v.Turn != "" || v.Changed.Sub(stopped) > time.Second {
				t.Errorf("%s: %q", name, all)
			}
		})
	}
}

// A disk that is full, or a process that dies, must not lose a turn that waits.
func TestRunner_FailedWakeUpDoesNotLoseTurn(t *testing.T) {
	for name, wake := range map[string]func(*conversation.Runner, string) error{
		"stop": func(h *conversation.Runner, c string) error { return h.Stop(context.Background(), c, "") },
		"now":  func(h *conversation.Runner, c string) error { return h.RetryNow(context.Background(), c) },
	} {
		synctest.Test(t, func(t *testing.T) {
			fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 5)
			h := newFixture(t, append(fails, llmtest.Says("hi"))...)
			var full atomic.Bool
			h.hookStore().offer = func(store.Job) error {
				if full.Load() {
					return store.ErrFull
				}
				return nil
			}
			runner, _ := h.runner()
			c := h.create(runner)
			h.say(runner, c, "hello")
			time.Sleep(3 * time.Minute)
			full.Store(true)
			_ = wake(runner, c)
			time.Sleep(time.Hour)
			if v, _ := runner.Get(t.Context(), c); v.Turn != "" {
				t.Errorf("%s: still in progress: %q", name, kinds(t, h.engine, c))
			}
		})
	}
}

func TestAttach_TextAfterWaitIsVoidWhenWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Hangs(llm.Text{Text: "well"}), llmtest.Says("hi"))
		m := &dyingStore{Store: h.engine}
		h.config.Store = m
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(10 * time.Second)
		m.dead.Store(true)
		h.config.Store = h.engine
		runner, _ = h.runner()
		expect(t, mute(follow(t, runner, c, 0, 1)), `
			queued: hello
			turn-start
			user: hello
			turn-restarted
			model: hi
			usage
			sealed done, 1 retries, 5000ms`)
	})
}

func TestRemove_OtherInputsKeepTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Second, llmtest.Says("one")), llmtest.Says("three"))
		m := h.hookStore()
		runner, _ := h.runner()
		c := h.create(runner)
		var second string
		m.before = once("turn-running", 2, func() {
			if err := runner.Remove(t.Context(), c, second); err != nil {
				t.Errorf("remove: %v", err)
			}
		})
		h.say(runner, c, "1")
		synctest.Wait()
		second = h.say(runner, c, "2")
		h.say(runner, c, "3")
		time.Sleep(time.Hour)
		all := kinds(t, h.engine, c)
		if count(all, "turn-sealed") != 2 {
			t.Errorf("%q", all)
		}
	})
}

func TestEdit_InputOfBegunTurnIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("ok"))
		m := h.hookStore()
		runner, _ := h.runner()
		c := h.create(runner)
		m.after = once("turn-running", 1, func() {
			id := turnOf(t, runner, c)
			v, _ := runner.Get(t.Context(), c)
			if len(v.Inputs) > 0 {
				t.Errorf("%+v", v)
			}
			for _, err := range []error{runner.Remove(t.Context(), c, id), runner.Edit(t.Context(), c, id, "x")} {
				if !errors.Is(err, conversation.ErrNotQueued) {
					t.Errorf("edit: %v", err)
				}
			}
		})
		h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
	})
}

// A steering input that is changed at the very moment at which the turn takes
// it up is taken up as it is then, or not at all.
func TestSteer_InputIsTakenAsEdited(t *testing.T) {
	for name, change := range map[string]func(h *conversation.Runner, c, id string) error{
		"removed": func(h *conversation.Runner, c, id string) error { return h.Remove(context.Background(), c, id) },
		"edited": func(h *conversation.Runner, c, id string) error {
			return h.Edit(context.Background(), c, id, "be long")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Says("ok"))
			h.tools = []tool.Tool{{Tool: llm.Tool{Name: "look"}, Func: func(context.Context, json.RawMessage) (string, error) {
				time.Sleep(time.Minute)
				return "seen", nil
			}}}
			m := h.hookStore()
			var runner *conversation.Runner
			var c, id string
			var steers atomic.Bool // then the three are set, and the turn is about to take up the input
			m.before = func(kind string) {
				if kind != "user-message" || !steers.CompareAndSwap(true, false) {
					return
				}
				if err := change(runner, c, id); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			runner, _ = h.runner()
			c = h.create(runner)
			h.say(runner, c, "go")
			time.Sleep(time.Second)
			id = h.say(runner, c, "be brief")
			if err := runner.Steer(t.Context(), c, id); err != nil {
				t.Fatalf("steer: %v", err)
			}
			steers.Store(true)
			got := strings.Join(mute(follow(t, runner, c, 0, 1)), "\n")
			if strings.Contains(got, "user: be brief") || strings.Contains(got, "user: be long") != (name == "edited") {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}

func TestSteer_OnlyTurnInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Minute, llmtest.Says("one")), llmtest.Says("two"), llmtest.Says("three"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "1")
		synctest.Wait()
		h.say(runner, c, "2")
		if err := runner.Steer(t.Context(), c, h.say(runner, c, "3")); err != nil {
			t.Fatalf("steer: %v", err)
		}
		time.Sleep(time.Hour)
		if all := kinds(t, h.engine, c); count(all, "turn-sealed") != 3 {
			t.Errorf("%q", all)
		}
	})
}

// A reader who says now as soon as the wait is reported does not say it for nothing.
func TestRetryNow_AsWaitBegins(t *testing.T) {
	for _, n := range []int32{1, 5} {
		for name, place := range map[string]func(*hookStore, func(string)){
			"before it is noted": func(m *hookStore, f func(string)) { m.before = f },
			"after it was noted": func(m *hookStore, f func(string)) { m.after = f },
		} {
			synctest.Test(t, func(t *testing.T) {
				fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, int(n))
				h := newFixture(t, append(fails, llmtest.Says("hi"))...)
				m := h.hookStore()
				runner, _ := h.runner()
				c := h.create(runner)
				var said time.Time
				place(m, once("turn-parked", n, func() {
					said = time.Now()
					if err := runner.RetryNow(t.Context(), c); err != nil {
						t.Errorf("retry now: %v", err)
					}
				}))
				h.say(runner, c, "hello")
				follow(t, runner, c, 0, 1)
				if took := time.Since(said); took > time.Second {
					t.Errorf("wait %d, %s: %v", n, name, took)
				}
			})
		}
	}
}

func TestSubmit_DeletedConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		m := h.hookStore()
		runner := conversation.New(h.config)
		c := h.create(runner)
		m.before = once("input-queued", 1, func() {
			if err := h.engine.Delete(t.Context(), c); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
		if _, err := runner.Submit(t.Context(), c, "", "hello"); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("submit: %v", err)
		}
	})
}

func TestSubmit_TextOfMaximalSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		desk := conversation.New(h.config)
		h.say(desk, h.create(desk), strings.Repeat("<&>", conversation.MaxText/3))
	})
}

func TestAttach_RetryIsPublishedAfterItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, fails(3, llmtest.Says("hi"))...)
		told := 0
		m := h.hookStore()
		runner, _ := h.runner()
		c := h.create(runner)
		m.live = func(data []byte) {
			if !strings.Contains(string(data), `"provider-retry"`) {
				return
			}
			if told++; count(kinds(t, h.engine, c), "turn-parked") != told {
				t.Errorf("retry %d is told of, and there is %q", told, kinds(t, h.engine, c))
			}
		}
		h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
		if told != 3 {
			t.Errorf("told of %d", told)
		}
	})
}

func TestAttach_BetweenAWaitsRecordAndItsEventTellsItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, fails(3, llmtest.Says("hi"))...)
		m := h.hookStore()
		runner, _ := h.runner()
		c := h.create(runner)
		seen := make(chan []string, 1)
		var came bool
		m.live = func(data []byte) {
			if came || !strings.Contains(string(data), `"provider-retry"`) {
				return
			}
			came = true
			go func() { seen <- follow(t, runner, c, 0, 1) }()
			synctest.Wait() // it has read the record
		}
		h.say(runner, c, "hello")
		expect(t, <-seen, `
			queued: hello
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 10s: HTTP 529: busy
			retry 2 in 30s: HTTP 529: busy
			recovered after 3
			… hi
			model: hi
			usage
			sealed done, 3 retries, 45000ms`)
	})
}
