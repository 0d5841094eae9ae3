package conversation_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

// awayStore is a store whose servers come and go.
type awayStore struct {
	store.Store
	away atomic.Bool
}

func (e *awayStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if e.away.Load() {
		return store.Position{}, store.ErrUnavailable
	}
	return e.Store.Append(ctx, c, at, records...)
}

func (e *awayStore) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	if e.away.Load() {
		return nil, store.ErrUnavailable
	}
	return e.Store.Subscribe(ctx, topic)
}

// slow is a model that answers after ten seconds.
type slow struct{ asked atomic.Int32 }

func (*slow) Name() llm.Name { return large }

func (m *slow) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	m.asked.Add(1)
	time.Sleep(10 * time.Second)
	return llmtest.Says("hi")(ctx, q)
}

// awayWhileAnswering starts a runner on a store whose servers go while the model answers.
func (h *fixture) awayWhileAnswering() (e *awayStore, m *slow, c string, end func()) {
	e, m = &awayStore{Store: h.engine}, &slow{}
	h.config.Store, h.model = e, m
	runner, end := h.runner()
	c = h.create(runner)
	h.say(runner, c, "hello")
	time.Sleep(5 * time.Second)
	e.away.Store(true)
	return e, m, c, end
}

func TestRunner_AnswerOutlastsAbsentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		e, m, c, _ := h.awayWhileAnswering()
		time.Sleep(10 * time.Minute)
		e.away.Store(false)
		time.Sleep(time.Minute)
		all := kinds(t, h.engine, c)
		if asked := m.asked.Load(); asked != 1 || count(all, "turn-sealed") != 1 || count(all, "assistant-message") != 1 {
			t.Errorf("the model was asked %d times, want once; records %q", asked, all)
		}
	})
}

func TestRunner_EndsWhileStoreIsAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		e, _, c, end := h.awayWhileAnswering()
		time.Sleep(time.Minute)
		began := time.Now()
		end()
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("the runner ended after %v, want 2 s at most", d)
		}
		e.away.Store(false)
		h.runner()
		time.Sleep(time.Hour)
		if all := kinds(t, h.engine, c); count(all, "turn-sealed") != 1 {
			t.Errorf("records %q, want the turn to be sealed by the next runner", all)
		}
	})
}

func TestRunner_FollowsFeedsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, failing(3, llmtest.Says("hi"), llmtest.Fails(busy))...)
		first, _ := h.runner()
		h.speak(first, h.create(first), "t1")
		e := &awayStore{Store: h.engine}
		e.away.Store(true)
		h.config.Store = e
		second, _ := h.runner()
		time.Sleep(time.Second)
		if got := parkedTurns(second); strings.Contains(got, "t1") {
			t.Fatalf("waits without feeds: got %s, want none", got)
		}
		e.away.Store(false)
		time.Sleep(10 * time.Second)
		if got, want := parkedTurns(second), parkedTurns(first); got != want || !strings.Contains(got, "t1") {
			t.Errorf("waits: got %s, want %s", got, want)
		}
	})
}

// emptiedStore is a store that has lost everything, until now.
type emptiedStore struct {
	store.Store
	now store.Store
}

func (e *emptiedStore) End(ctx context.Context, c string) (store.Position, error) {
	return e.now.End(ctx, c)
}

func (e *emptiedStore) Read(ctx context.Context, c string, after int64) iter.Seq2[store.Record, error] {
	return e.now.Read(ctx, c, after)
}

func (e *emptiedStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	return e.now.Append(ctx, c, at, records...)
}

// What a runner remembers of a conversation must not continue in a log that has lost its beginning.
func TestRunner_LostLogIsNotContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		e := &emptiedStore{h.engine, h.engine}
		h.config.Store = e
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(time.Minute)
		synctest.Wait()
		empty := store.Memory()
		defer empty.Close(t.Context())
		e.now = empty
		for _, want := range []string{"is damaged from record 1 on: records are gone that were there before", conversation.ErrNotFound.Error()} {
			if _, err := runner.Submit(t.Context(), c, "", "again"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("submit: got error %v, want %q", err, want)
			}
		}
		if all := kinds(t, empty, c); len(all) != 0 {
			t.Errorf("the empty store has records %q, want none", all)
		}
	})
}
