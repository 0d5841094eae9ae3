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
func (h *fixture) records(conversation string) []store.Record {
	h.t.Helper()
	all, _, err := store.Load(h.t.Context(), h.engine, conversation, 0)
	if err != nil {
		h.t.Fatalf("load: %v", err)
	}
	return all
}

// restore takes a conversation into another fixture.
func (h *fixture) restore(runner *conversation.Runner, conversation string, all []store.Record, want int) {
	h.t.Helper()
	if added, err := runner.Restore(h.t.Context(), conversation, all); err != nil || added != want {
		h.t.Errorf("%d records added, %v; want %d", added, err, want)
	}
}

func fails(n int, then ...llmtest.Answer) (answers []llmtest.Answer) {
	for range n {
		answers = append(answers, llmtest.Fails(busy))
	}
	return append(answers, then...)
}

func TestRestore_LongWaitEndsAtSameInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newFixture(t, fails(8)...)
		runner, end := old.runner()
		c := old.create(runner)
		old.say(runner, c, "hello")
		time.Sleep(40 * time.Minute) // the wait of 30 minutes has begun after 31:45
		end()
		before, err := runner.Get(t.Context(), c)
		if err != nil || before.Wait == nil {
			t.Fatalf("%+v, %v", before, err)
		}
		all := old.records(c)

		h := newFixture(t, llmtest.Says("hi"))
		idle := conversation.New(h.config)
		h.restore(idle, c, all, len(all))
		h.restore(idle, c, all, 0)
		if diff := cmp.Diff(all, h.records(c)); diff != "" {
			t.Errorf("restored records (-want +got):\n%s", diff)
		}
		if after, err := idle.Get(t.Context(), c); err != nil || cmp.Diff(before, after) != "" {
			t.Errorf("%v, %s", err, cmp.Diff(before, after))
		}
		runner, _ = h.runner()
		got := follow(t, runner, c, 0, 1)
		if late := time.Since(before.Wait.Due); late < 0 || late > time.Second {
			t.Errorf("it went on %v after its instant", late)
		}
		if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed done, 8 retries, 37") {
			t.Errorf("%q", got)
		}
	})
}

func TestRestore_OverdueTurnResumesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newFixture(t, fails(8)...)
		runner, end := old.runner()
		c := old.create(runner)
		old.say(runner, c, "hello")
		time.Sleep(40 * time.Minute)
		end()
		time.Sleep(24 * time.Hour)
		h := newFixture(t, llmtest.Says("hi"))
		runner, _ = h.runner()
		h.restore(runner, c, old.records(c), len(old.records(c)))
		began := time.Now()
		if got := follow(t, runner, c, 0, 1); time.Since(began) > time.Second || !strings.HasPrefix(got[len(got)-1], "sealed done, 8 retries") {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

// The worker has a tool at work or waits itself, and its process ends without a
// word.
func TestRestore_HeldTurnResumes(t *testing.T) {
	for _, pass := range []time.Duration{time.Second, 7 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(context.Context, json.RawMessage) (string, error) {
				time.Sleep(time.Minute)
				return "seen", nil
			}
			tools := []tool.Tool{{Tool: llm.Tool{Name: "look"}, Func: slow}}
			old := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Calls(llmtest.Call("1", "look", "{}")))
			old.tools = tools
			m := &dyingStore{Store: old.engine}
			old.config.Store = m
			runner, _ := old.runner()
			c := old.create(runner)
			old.say(runner, c, "go")
			old.say(runner, c, "and then")
			time.Sleep(pass)
			m.dead.Store(true)
			all := old.records(c)

			h := newFixture(t, llmtest.Says("one"), llmtest.Says("two"))
			h.tools = tools
			runner, _ = h.runner()
			h.restore(runner, c, all, len(all))
			h.restore(runner, c, all, 0)
			got := follow(t, runner, c, 0, 2)
			if n := strings.Count(strings.Join(got, "\n"), "sealed done"); n != 2 {
				t.Errorf("after %v: %q", pass, got)
			}
			if asked := len(h.model.(*llmtest.Model).Requests()); asked != 2 {
				t.Errorf("after %v: asked %d times", pass, asked)
			}
		})
	}
}

func TestRestore_CanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("so it goes ", 4000)
		old := newFixture(t, llmtest.Says("one"), llmtest.Fails(busy))
		runner, end := old.runner()
		c := old.create(runner)
		for range 2 {
			old.say(runner, c, long)
		}
		time.Sleep(time.Second)
		end()
		all := old.records(c)
		for n := range 15 {
			h := newFixture(t, llmtest.Says("here"))
			m := &dyingStore{Store: h.engine}
			h.config.Store = &counting{dyingStore: m, left: n}
			_, err := conversation.New(h.config).Restore(t.Context(), c, all)
			h.config.Store = h.engine
			runner, _ := h.runner()
			if _, again := runner.Restore(t.Context(), c, all); again != nil {
				t.Errorf("after %d: %v", n, again)
			}
			got := follow(t, runner, c, 0, 2)
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

// counting lets a process die after a given number of appends.
type counting struct {
	*dyingStore
	left int
}

func (c *counting) Append(ctx context.Context, id string, at store.Position, records ...store.Record) (store.Position, error) {
	if c.left--; c.left < 0 {
		c.dead.Store(true)
	}
	return c.dyingStore.Append(ctx, id, at, records...)
}

func TestRestore_RefusesIncompleteOrOtherConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
		all := h.records(c)
		if err := runner.Delete(t.Context(), h.create(runner)); err != nil {
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
			if added, err := runner.Restore(t.Context(), tt.id, tt.records); !errors.Is(err, tt.want) || added != 0 {
				t.Errorf("%s: %d, %v", tt.name, added, err)
			}
		}
		if err := runner.Delete(t.Context(), c); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := runner.Restore(t.Context(), c, all); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("restore: %v", err)
		}
		if _, err := runner.Get(t.Context(), "a"); !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("get: %v", err)
		}
	})
}

func TestRestore_OtherRecordFormat(t *testing.T) {
	r := conversation.New(conversation.Config{Store: store.Memory()})
	defer r.Store.Close(context.Background())
	old := store.Record{N: 1, Time: time.Now(), Type: "conversation-created", Body: json.RawMessage(`{"model":"acme/large"}`)}
	want := "the conversation has record format 0 of another version of ridethrough; this version reads format 1"
	if _, err := r.Restore(t.Context(), "c", []store.Record{old}); !errors.Is(err, store.ErrInvalid) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("restore: got %v, want %s", err, want)
	}
	if _, err := r.Store.Append(t.Context(), "c", store.Position{}, old); err != nil {
		t.Fatalf("append: %v", err)
	}
	if _, err := r.Get(t.Context(), "c"); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("get: got %v, want %s", err, want)
	}
}
