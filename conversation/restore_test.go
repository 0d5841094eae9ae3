package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
)

// records reads all there is of a conversation.
func (h *house) records(conversation string) []store.Record {
	h.t.Helper()
	all, _, err := store.Load(h.t.Context(), h.engine, conversation, 0)
	if err != nil {
		h.t.Fatalf("load: %v", err)
	}
	return all
}

// restore takes a conversation into another house.
func (h *house) restore(host *conversation.Runner, conversation string, all []store.Record, want int) {
	h.t.Helper()
	if added, err := host.Restore(h.t.Context(), conversation, all); err != nil || added != want {
		h.t.Errorf("%d records added, %v; want %d", added, err, want)
	}
}

func fails(n int, then ...llmtest.Answer) (answers []llmtest.Answer) {
	for range n {
		answers = append(answers, llmtest.Fails(busy))
	}
	return append(answers, then...)
}

func TestALongWaitGoesOnInAnotherStoreUntilTheSameInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newHouse(t, fails(8)...)
		host, end := old.host()
		c := old.create(host)
		old.say(host, c, "hello")
		time.Sleep(40 * time.Minute) // the wait of 30 minutes has begun after 31:45
		end()
		before, err := host.Get(t.Context(), c)
		if err != nil || before.Wait == nil {
			t.Fatalf("%+v, %v", before, err)
		}
		all := old.records(c)

		h := newHouse(t, llmtest.Says("hi"))
		idle := conversation.New(h.config)
		h.restore(idle, c, all, len(all))
		h.restore(idle, c, all, 0)
		if diff := cmp.Diff(all, h.records(c)); diff != "" {
			t.Errorf("restored records (-want +got):\n%s", diff)
		}
		if after, err := idle.Get(t.Context(), c); err != nil || cmp.Diff(before, after) != "" {
			t.Errorf("%v, %s", err, cmp.Diff(before, after))
		}
		host, _ = h.host()
		got := follow(t, host, c, 0, 1)
		if late := time.Since(before.Wait.Due); late < 0 || late > time.Second {
			t.Errorf("it went on %v after its instant", late)
		}
		if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed done, 8 retries, 37") {
			t.Errorf("%q", got)
		}
	})
}

func TestATurnWhoseInstantHasPassedGoesOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newHouse(t, fails(8)...)
		host, end := old.host()
		c := old.create(host)
		old.say(host, c, "hello")
		time.Sleep(40 * time.Minute)
		end()
		time.Sleep(24 * time.Hour)
		h := newHouse(t, llmtest.Says("hi"))
		host, _ = h.host()
		h.restore(host, c, old.records(c), len(old.records(c)))
		began := time.Now()
		if got := follow(t, host, c, 0, 1); time.Since(began) > time.Second || !strings.HasPrefix(got[len(got)-1], "sealed done, 8 retries") {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

// The worker has a tool at work or waits itself, and its process ends without a
// word.
func TestATurnGoesOnThatWasBeingWorkedOn(t *testing.T) {
	for _, pass := range []time.Duration{time.Second, 7 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(context.Context, json.RawMessage) (string, error) {
				time.Sleep(time.Minute)
				return "seen", nil
			}
			tools := []tool.Tool{{Tool: llm.Tool{Name: "look"}, Func: slow}}
			old := newHouse(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Calls(llmtest.Call("1", "look", "{}")))
			old.tools = tools
			m := &mortal{Store: old.engine}
			old.config.Store = m
			host, _ := old.host()
			c := old.create(host)
			old.say(host, c, "go")
			old.say(host, c, "and then")
			time.Sleep(pass)
			m.dead.Store(true)
			all := old.records(c)

			h := newHouse(t, llmtest.Says("one"), llmtest.Says("two"))
			h.tools = tools
			host, _ = h.host()
			h.restore(host, c, all, len(all))
			h.restore(host, c, all, 0)
			got := follow(t, host, c, 0, 2)
			if n := strings.Count(strings.Join(got, "\n"), "sealed done"); n != 2 {
				t.Errorf("after %v: %q", pass, got)
			}
			if asked := len(h.model.(*llmtest.Model).Requests()); asked != 2 {
				t.Errorf("after %v: asked %d times", pass, asked)
			}
		})
	}
}

func TestARestoreThatBrokeOffIsDoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("so it goes ", 4000)
		old := newHouse(t, llmtest.Says("one"), llmtest.Fails(busy))
		host, end := old.host()
		c := old.create(host)
		for range 2 {
			old.say(host, c, long)
		}
		time.Sleep(time.Second)
		end()
		all := old.records(c)
		for n := range 15 {
			h := newHouse(t, llmtest.Says("here"))
			m := &mortal{Store: h.engine}
			h.config.Store = &counting{mortal: m, left: n}
			_, err := conversation.New(h.config).Restore(t.Context(), c, all)
			h.config.Store = h.engine
			host, _ := h.host()
			if _, again := host.Restore(t.Context(), c, all); again != nil {
				t.Errorf("after %d: %v", n, again)
			}
			got := follow(t, host, c, 0, 2)
			if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed done, 1 retries") {
				t.Errorf("after %d (%v): %q", n, err, last)
			}
			if err == nil {
				return
			}
		}
		t.Error("it never got through")
	})
}

// counting lets a process die after so many appends.
type counting struct {
	*mortal
	left int
}

func (c *counting) Append(ctx context.Context, id string, at store.Position, records ...store.Record) (store.Position, error) {
	if c.left--; c.left < 0 {
		c.dead.Store(true)
	}
	return c.mortal.Append(ctx, id, at, records...)
}

func TestWhatIsRestoredMustBeAWholeConversationAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("hi"))
		host, _ := h.host()
		c := h.create(host)
		h.say(host, c, "hello")
		follow(t, host, c, 0, 1)
		all := h.records(c)
		if err := host.Delete(t.Context(), h.create(host)); err != nil {
			t.Errorf("delete: %v", err)
		}
		other := append([]store.Record{}, all...)
		other[2].Time = other[2].Time.Add(time.Second)
		torn := append([]store.Record{}, all...)
		torn[1].Body = json.RawMessage(`{"text":1}`)
		tests := []struct {
			name, id string
			records  []store.Record
			want     error
		}{
			{"nothing", "a", nil, store.ErrInvalid},
			{"no beginning", "a", all[1:], store.ErrInvalid},
			{"a hole", "a", append(append([]store.Record{}, all[:2]...), all[3:]...), store.ErrInvalid},
			{"no such body", "a", torn, store.ErrInvalid},
			{"no id", "a/b", all, store.ErrInvalid},
			{"another one", c, other, conversation.ErrExists},
			{"a part", c, all[:3], nil},
			{"the same", c, all, nil},
		}
		for _, tt := range tests {
			if added, err := host.Restore(t.Context(), tt.id, tt.records); !errors.Is(err, tt.want) || added != 0 {
				t.Errorf("%s: %d, %v", tt.name, added, err)
			}
		}
		if err := host.Delete(t.Context(), c); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := host.Restore(t.Context(), c, all); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("restore: %v", err)
		}
		if _, err := host.Get(t.Context(), "a"); !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("get: %v", err)
		}
	})
}

func TestWhatWasAcceptedAndNotWrittenDownIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("hi"))
		idle := conversation.New(h.config)
		c := h.create(idle)
		h.config.Store = &counting{mortal: &mortal{Store: h.engine}}
		h.say(conversation.New(h.config), c, "hello") // its process dies before it shows
		if v, err := idle.Get(t.Context(), c); err != nil || len(v.Inputs) != 0 {
			t.Errorf("%+v, %v", v, err)
		}
		for range 2 {
			if err := idle.RecordQueued(t.Context()); err != nil {
				t.Errorf("record queued: %v", err)
			}
			if v, err := idle.Get(t.Context(), c); err != nil || len(v.Inputs) != 1 || v.Inputs[0].Text != "hello" {
				t.Errorf("%+v, %v", v, err)
			}
		}
		h.config.Store = h.engine
		host, _ := h.host()
		expect(t, mute(follow(t, host, c, 0, 1)), `
			queued: hello
			turn-start
			user: hello
			model: hi
			usage
			sealed done, 0 retries, 0ms`)
	})
}
