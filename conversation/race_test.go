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

// meddler is a store in which something happens at a moment of somebody
// else's choosing.
type meddler struct {
	store.Store
	before func(kind string)     // an append; kind is that of its first record
	after  func(kind string)     // one that has succeeded
	offer  func(store.Job) error // nil: every offer is taken
	live   func(data []byte)     // something is published; nil: nobody looks
}

func (m *meddler) Publish(ctx context.Context, topic string, data []byte) error {
	if m.live != nil {
		m.live(data)
	}
	return m.Store.Publish(ctx, topic, data)
}

func (m *meddler) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if m.before != nil {
		m.before(records[0].Type)
	}
	end, err := m.Store.Append(ctx, c, at, records...)
	if err == nil && m.after != nil {
		m.after(records[0].Type)
	}
	return end, err
}

func (m *meddler) Enqueue(ctx context.Context, t store.Job) error {
	if m.offer != nil {
		if err := m.offer(t); err != nil {
			return err
		}
	}
	return m.Store.Enqueue(ctx, t)
}

// meddle puts a meddler before the store that runners see.
func (h *house) meddle() *meddler {
	m := &meddler{Store: h.engine}
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

func TestATurnThatNeverBeginsIsSealedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.before = func() error { return errors.New("no such model here") }
		host, _ := h.host()
		c := h.create(host)
		h.say(host, c, "hello")
		time.Sleep(3 * time.Hour)
		all := kinds(t, h.engine, c)
		if count(all, "turn-sealed") != 1 || count(all, "turn-start") != 1 {
			t.Errorf("%q", all)
		}
		if v, _ := host.Get(t.Context(), c); v.Turn != "" || len(v.Inputs) > 0 {
			t.Errorf("%+v", v)
		}
	})
}

func TestATurnIsStoppedBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("two"))
		var lost atomic.Bool
		lost.Store(true)
		h.before = func() error {
			if lost.Load() {
				return errors.New("no such model here")
			}
			return nil
		}
		host, _ := h.host()
		c := h.create(host)
		h.say(host, c, "1")
		h.say(host, c, "2")
		time.Sleep(time.Second)
		lost.Store(false)
		if err := host.Stop(t.Context(), c, ""); err != nil {
			t.Fatalf("stop: %v", err)
		}
		expect(t, mute(follow(t, host, c, 0, 2)), `
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

func TestInputsKeepTheirOrderWhoeverIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three"))
		desk := conversation.New(h.config)
		c := h.create(desk)
		for _, text := range []string{"1", "2", "3"} {
			h.say(desk, c, text)
		}
		first, err := h.engine.Take(t.Context()) // comes last
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		host, _ := h.host()
		synctest.Wait()
		_ = first.Nack(0)
		var said []string
		for _, line := range follow(t, host, c, 0, 3) {
			if strings.HasPrefix(line, "user: ") {
				said = append(said, line)
			}
		}
		if !slices.Equal(said, []string{"user: 1", "user: 2", "user: 3"}) {
			t.Errorf("%q", said)
		}
	})
}

func TestAStopThatCrossesTheParkingEndsTheTurnAtOnce(t *testing.T) {
	for name, place := range map[string]func(*meddler, func(string)){
		"before it is noted": func(m *meddler, f func(string)) { m.before = f },
		"after it was noted": func(m *meddler, f func(string)) { m.after = f },
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 9)...)
			m := h.meddle()
			host, _ := h.host()
			c := h.create(host)
			var stopped time.Time
			place(m, once("turn-parked", 7, func() {
				stopped = time.Now()
				if err := host.Stop(t.Context(), c, ""); err != nil {
					t.Errorf("stop: %v", err)
				}
			}))
			h.say(host, c, "hello")
			got := follow(t, host, c, 0, 1)
			if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed aborted") || time.Since(stopped) > time.Second {
				t.Errorf("%s: %q after %v", name, last, time.Since(stopped))
			}
		})
	}
}

func TestAStopThatCrossesTheTakingEndsTheTurnAtOnce(t *testing.T) {
	for name, place := range map[string]func(*meddler, func(string)){
		"before it is noted": func(m *meddler, f func(string)) { m.before = f },
		"after it was noted": func(m *meddler, f func(string)) { m.after = f },
	} {
		synctest.Test(t, func(t *testing.T) {
			fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 5)
			h := newHouse(t, append(fails, llmtest.Hangs())...)
			m := h.meddle()
			host, _ := h.host()
			c := h.create(host)
			var stopped time.Time
			place(m, once("turn-running", 2, func() {
				stopped = time.Now()
				if err := host.Stop(t.Context(), c, ""); err != nil {
					t.Errorf("stop: %v", err)
				}
			}))
			h.say(host, c, "hello")
			time.Sleep(time.Hour)
			all := kinds(t, h.engine, c)
			v, _ := host.Get(t.Context(), c)
			if v.Turn != "" || v.Changed.Sub(stopped) > time.Second {
				t.Errorf("%s: %q", name, all)
			}
		})
	}
}

// A disk that is full, or a process that dies, must not lose a turn that waits.
func TestATurnIsNotLostByWhomWakesIt(t *testing.T) {
	for name, wake := range map[string]func(*conversation.Runner, string) error{
		"stop": func(h *conversation.Runner, c string) error { return h.Stop(context.Background(), c, "") },
		"now":  func(h *conversation.Runner, c string) error { return h.RetryNow(context.Background(), c) },
	} {
		synctest.Test(t, func(t *testing.T) {
			fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 5)
			h := newHouse(t, append(fails, llmtest.Says("hi"))...)
			var full atomic.Bool
			h.meddle().offer = func(store.Job) error {
				if full.Load() {
					return store.ErrFull
				}
				return nil
			}
			host, _ := h.host()
			c := h.create(host)
			h.say(host, c, "hello")
			time.Sleep(3 * time.Minute)
			full.Store(true)
			_ = wake(host, c)
			time.Sleep(time.Hour)
			if v, _ := host.Get(t.Context(), c); v.Turn != "" {
				t.Errorf("%s: still under way: %q", name, kinds(t, h.engine, c))
			}
		})
	}
}

func TestWhatStreamedAfterAWaitIsVoidWhenItsWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Fails(busy), llmtest.Hangs(llm.Text{Text: "well"}), llmtest.Says("hi"))
		m := &mortal{Store: h.engine}
		h.config.Store = m
		host, _ := h.host()
		c := h.create(host)
		h.say(host, c, "hello")
		time.Sleep(10 * time.Second)
		m.dead.Store(true)
		h.config.Store = h.engine
		host, _ = h.host()
		expect(t, mute(follow(t, host, c, 0, 1)), `
			queued: hello
			turn-start
			user: hello
			turn-restarted
			model: hi
			usage
			sealed done, 1 retries, 5000ms`)
	})
}

func TestAnInputThatIsTakenBackLeavesTheOthersTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Late(time.Second, llmtest.Says("one")), llmtest.Says("three"))
		m := h.meddle()
		host, _ := h.host()
		c := h.create(host)
		var second string
		m.before = once("turn-running", 2, func() {
			if err := host.Remove(t.Context(), c, second); err != nil {
				t.Errorf("remove: %v", err)
			}
		})
		h.say(host, c, "1")
		synctest.Wait()
		second = h.say(host, c, "2")
		h.say(host, c, "3")
		time.Sleep(time.Hour)
		all := kinds(t, h.engine, c)
		if count(all, "turn-sealed") != 2 {
			t.Errorf("%q", all)
		}
	})
}

func TestAnInputThatIsBegunCannotBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("ok"))
		m := h.meddle()
		host, _ := h.host()
		c := h.create(host)
		m.after = once("turn-running", 1, func() {
			id := turnOf(t, host, c)
			v, _ := host.Get(t.Context(), c)
			if len(v.Inputs) > 0 {
				t.Errorf("%+v", v)
			}
			for _, err := range []error{host.Remove(t.Context(), c, id), host.Edit(t.Context(), c, id, "x")} {
				if !errors.Is(err, conversation.ErrNotQueued) {
					t.Errorf("edit: %v", err)
				}
			}
		})
		h.say(host, c, "hello")
		follow(t, host, c, 0, 1)
	})
}

// A steering input that is changed at the very moment at which the turn takes
// it up is taken up as it is then, or not at all.
func TestASteeringInputIsTakenUpAsItStands(t *testing.T) {
	for name, change := range map[string]func(h *conversation.Runner, c, id string) error{
		"removed": func(h *conversation.Runner, c, id string) error { return h.Remove(context.Background(), c, id) },
		"edited": func(h *conversation.Runner, c, id string) error {
			return h.Edit(context.Background(), c, id, "be long")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Says("ok"))
			h.tools = []tool.Tool{{Tool: llm.Tool{Name: "look"}, Func: func(context.Context, json.RawMessage) (string, error) {
				time.Sleep(time.Minute)
				return "seen", nil
			}}}
			m := h.meddle()
			host, _ := h.host()
			c := h.create(host)
			h.say(host, c, "go")
			time.Sleep(time.Second)
			id := h.say(host, c, "be brief")
			if err := host.Steer(t.Context(), c, id); err != nil {
				t.Fatalf("steer: %v", err)
			}
			m.before = once("user-message", 1, func() {
				if err := change(host, c, id); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			got := strings.Join(mute(follow(t, host, c, 0, 1)), "\n")
			if strings.Contains(got, "user: be brief") || strings.Contains(got, "user: be long") != (name == "edited") {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}

func TestAnInputSteersNoTurnButTheOneThatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Late(time.Minute, llmtest.Says("one")), llmtest.Says("two"), llmtest.Says("three"))
		host, _ := h.host()
		c := h.create(host)
		h.say(host, c, "1")
		synctest.Wait()
		h.say(host, c, "2")
		if err := host.Steer(t.Context(), c, h.say(host, c, "3")); err != nil {
			t.Fatalf("steer: %v", err)
		}
		time.Sleep(time.Hour)
		if all := kinds(t, h.engine, c); count(all, "turn-sealed") != 3 {
			t.Errorf("%q", all)
		}
	})
}

// A reader who says now as soon as the wait is told of does not say it in vain.
func TestSomebodySaysNowTheMomentAWaitBegins(t *testing.T) {
	for _, n := range []int32{1, 5} {
		for name, place := range map[string]func(*meddler, func(string)){
			"before it is noted": func(m *meddler, f func(string)) { m.before = f },
			"after it was noted": func(m *meddler, f func(string)) { m.after = f },
		} {
			synctest.Test(t, func(t *testing.T) {
				fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, int(n))
				h := newHouse(t, append(fails, llmtest.Says("hi"))...)
				m := h.meddle()
				host, _ := h.host()
				c := h.create(host)
				var said time.Time
				place(m, once("turn-parked", n, func() {
					said = time.Now()
					if err := host.RetryNow(t.Context(), c); err != nil {
						t.Errorf("retry now: %v", err)
					}
				}))
				h.say(host, c, "hello")
				follow(t, host, c, 0, 1)
				if took := time.Since(said); took > time.Second {
					t.Errorf("wait %d, %s: %v", n, name, took)
				}
			})
		}
	}
}

func TestNothingIsSaidToAConversationThatIsJustDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		m := h.meddle()
		host := conversation.New(h.config)
		c := h.create(host)
		m.offer = func(store.Job) error { return h.engine.Delete(t.Context(), c) }
		if _, err := host.Submit(t.Context(), c, "", "hello"); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("submit: %v", err)
		}
	})
}

func TestAPageOfAnyKindIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		desk := conversation.New(h.config)
		h.say(desk, h.create(desk), strings.Repeat("<&>", conversation.MaxText/3))
	})
}

func TestARetryIsToldOfWhenItHasBeenCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, fails(3, llmtest.Says("hi"))...)
		told := 0
		m := h.meddle()
		host, _ := h.host()
		c := h.create(host)
		m.live = func(data []byte) {
			if !strings.Contains(string(data), `"provider-retry"`) {
				return
			}
			if told++; count(kinds(t, h.engine, c), "turn-parked") != told {
				t.Errorf("retry %d is told of, and there is %q", told, kinds(t, h.engine, c))
			}
		}
		h.say(host, c, "hello")
		follow(t, host, c, 0, 1)
		if told != 3 {
			t.Errorf("told of %d", told)
		}
	})
}
