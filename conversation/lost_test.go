package conversation_test

import (
	"context"
	"fmt"
	"iter"
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
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// holedStore is a store that has lost the records of its logs from one number to another.
type holedStore struct {
	store.Store
	first, last int64
	losses      []store.Loss
	slow        time.Duration // from when it notices a loss until its reader knows; an append takes half of that
}

func (s *holedStore) Append(ctx context.Context, conversation string, at store.Position, records ...store.Record) (store.Position, error) {
	time.Sleep(s.slow / 2)
	return s.Store.Append(ctx, conversation, at, records...)
}

func (s *holedStore) Read(ctx context.Context, conversation string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range s.Store.Read(ctx, conversation, after) {
			if err == nil && s.first <= r.N && r.N <= s.last {
				if r.N == s.last && after < s.last {
					d := s.damage(ctx, conversation)
					time.Sleep(s.slow)
					yield(store.Record{}, d)
					return
				}
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (s *holedStore) damage(ctx context.Context, conversation string) error {
	d := &store.Damage{Conversation: conversation, N: s.first, Why: "missing"}
	if end, err := s.End(ctx, conversation); err == nil && end.N > s.last {
		d.Next = s.last + 1
	}
	return d
}

func (s *holedStore) Health(ctx context.Context) (store.Health, error) {
	h, err := s.Store.Health(ctx)
	h.Losses = s.losses
	return h, err
}

// history returns the kept events of a conversation as lines.
func history(t *testing.T, r *conversation.Runner, c string) (all []string) {
	t.Helper()
	for e, err := range r.History(t.Context(), c, 0) {
		if err != nil {
			return append(all, err.Error())
		}
		if b, ok := e.Body.(wire.RecordLost); ok {
			all = append(all, fmt.Sprintf("lost %d to %d", b.First, b.Last))
			continue
		}
		all = append(all, say(e))
	}
	return all
}

// lostMessage is why a turn is failed of whose record a part is lost.
const lostMessage = "error: part of this conversation's record was lost: "

// Two turns have been answered. Whatever part of their record is lost, the rest can be read, nothing is asked
// again, no turn runs for ever, and the conversation continues.
func TestRunner_ConversationWithHoleGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"), llmtest.Says("two"))
		runner, end := h.runner()
		c := h.create(runner)
		for _, text := range []string{"first", "second"} {
			h.say(runner, c, text)
			time.Sleep(time.Second)
		}
		end()
		all, _, err := store.Load(t.Context(), h.engine, c, 0)
		if err != nil {
			t.Fatalf("load: %v", err)
		}
		for first := int64(1); first <= int64(len(all)); first++ {
			for last := first; last <= int64(len(all)) && last-first < int64(len(all))-1; last++ {
				checkHole(t, c, all, first, last, 0)
			}
		}
		checkHole(t, c, all, 9, int64(len(all)), time.Second) // the third input comes before its worker knows of the loss
	})
}

func checkHole(t *testing.T, c string, all []store.Record, first, last int64, slow time.Duration) {
	t.Helper()
	h := newFixture(t, llmtest.Says("three"))
	h.fill(c, all)
	h.config.Store = &holedStore{Store: h.engine, first: first, last: last, losses: []store.Loss{{Noticed: time.Now(), Conversation: c}}, slow: slow}
	runner, end := h.runner()
	defer end()
	time.Sleep(time.Minute)
	h.say(runner, c, "third")
	time.Sleep(time.Minute)
	v, err := runner.Get(t.Context(), c)
	if err != nil || v.Turn != "" || len(v.Inputs) > 0 || len(v.Lost) != 1 {
		t.Errorf("without %d to %d: got %+v, %v; want nothing in progress and one loss", first, last, v, err)
	}
	got := history(t, runner, c)
	if want := fmt.Sprintf("lost %d to %d", first, last); !slices.Contains(got, want) || !slices.Contains(got, "model: three") {
		t.Errorf("without %d to %d: got %q, want %q and the answer to the third", first, last, got, want)
	}
	if q := h.model.(*llmtest.Model).Requests(); len(q) != 1 || lastText(q[0]) != "third" {
		t.Errorf("without %d to %d: got %d requests, want one for the third input\n%s", first, last, len(q), strings.Join(got, "\n"))
	}
}

func lastText(q llm.Request) string { return q.Messages[len(q.Messages)-1].Content.Text() }

// fill makes a log of records that are there already.
func (h *fixture) fill(c string, records []store.Record) {
	h.t.Helper()
	var at store.Position
	for _, r := range records {
		var err error
		if at, err = h.engine.Append(h.t.Context(), c, at, r); err != nil {
			h.t.Fatalf("append: %v", err)
		}
	}
}

// The end of the record of a turn is lost. It is sealed as failed, once, and the next input is answered.
func TestRunner_TurnWithLostEndIsSealedFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"))
		runner, end := h.runner()
		c := h.create(runner)
		id := h.say(runner, c, "first")
		time.Sleep(time.Second)
		end()
		all, _, err := store.Load(t.Context(), h.engine, c, 0)
		if err != nil {
			t.Fatalf("load: %v", err)
		}
		for n := 3; n < len(all); n++ { // of the claim on
			h := newFixture(t, llmtest.Says("two"))
			h.fill(c, all[:n])
			h.config.Store = &holedStore{Store: h.engine, losses: []store.Loss{{Noticed: time.Now(), Conversation: c, First: 1 << 20}}}
			for range 2 {
				runner, end = h.runner()
				time.Sleep(time.Minute)
				end()
			}
			got := history(t, runner, c)
			want := lostMessage + fmt.Sprintf("its records from %d on are missing, and with them how far this turn had come", n+1)
			if !slices.Contains(got, want) || count(got, fmt.Sprintf("lost %d to 0", n+1)) != 1 {
				t.Errorf("with %d records: got %q, want %q and one event that says so", n, got, want)
			}
			if ends := turns(t, runner, c); ends[id] != turn.Failed {
				t.Errorf("with %d records: got ends %v, want it failed", n, ends)
			}
			runner, end = h.runner()
			next := h.say(runner, c, "second")
			time.Sleep(time.Minute)
			if ends := turns(t, runner, c); ends[next] != turn.Done {
				t.Errorf("with %d records: got ends %v, want the next turn done", n, ends)
			}
			end()
		}
	})
}

// Jobs are lost, and the log is whole: what waits for its turn or for its provider continues, and what is over
// stays over.
func TestRunner_LostJobsAreEnqueuedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Hangs())
		runner, end := h.runner()
		c := h.create(runner)
		h.say(runner, c, "first")
		h.say(runner, c, "second")
		for _, after := range []time.Duration{0, time.Millisecond, 40 * time.Second, time.Minute} {
			time.Sleep(after)
			all, _, err := store.Load(t.Context(), h.engine, c, 0)
			if err != nil {
				t.Fatalf("load: %v", err)
			}
			time.Sleep(time.Second) // then the process has ended, and the next one begins
			other := newFixture(t, llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three"))
			other.fill(c, all)
			other.config.Store = &holedStore{Store: other.engine, losses: []store.Loss{{Noticed: time.Now(), Jobs: true}}}
			again, endAgain := other.runner()
			other.runner()
			time.Sleep(10 * time.Minute)
			if got := turns(t, again, c); len(got) != 2 || other.ends([]string{c})[turn.Done] != 2 {
				t.Errorf("after %v: got ends %v, want two turns done", after, got)
			}
			if n := len(other.model.(*llmtest.Model).Requests()); n != 2 {
				t.Errorf("after %v: got %d requests, want 2", after, n)
			}
			endAgain()
		}
		end()
	})
}

// endlessDamage is a store with a log that cannot be read at all.
type endlessDamage struct {
	store.Store
	asked atomic.Int32
}

func (s *endlessDamage) End(_ context.Context, conversation string) (store.Position, error) {
	s.asked.Add(1)
	return store.Position{}, &store.Damage{Conversation: conversation, N: 1, Why: "it cannot be decoded"}
}

// The job of a conversation that cannot be read is not delivered every three seconds for ever.
func TestRunner_UnreadableConversationIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		desk := conversation.New(h.config)
		h.say(desk, h.create(desk), "hello")
		damaged := &endlessDamage{Store: h.engine}
		h.config.Store = damaged
		_, end := h.runner()
		time.Sleep(time.Hour)
		end()
		if n := damaged.asked.Load(); n > 130 {
			t.Errorf("got %d attempts to read in an hour, want about two a minute", n)
		}
	})
}
