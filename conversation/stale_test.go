package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// deposedStore is a store of which a server answers that is not the leader any more.
type deposedStore struct {
	store.Store
	mu       sync.Mutex
	ends     []store.Position // of the log, each with an append
	reads    int              // how many reads lack the latest append
	lacks    store.Position   // reads end here until then
	until    time.Time
	refuses  bool                         // it refuses what is stored
	appended func(records []store.Record) // nil: nothing is to be done
}

func (s *deposedStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	s.mu.Lock() // for the ends to be in the order of the log
	defer s.mu.Unlock()
	end, err := s.Store.Append(ctx, c, at, records...)
	if err != nil {
		return end, err
	}
	s.ends = append(s.ends, end)
	if s.appended != nil {
		s.appended(records)
	}
	if s.refuses {
		s.reads = 1
		return store.Position{}, store.ErrConflict
	}
	return end, nil
}

func (s *deposedStore) End(ctx context.Context, c string) (store.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reads > 0 && len(s.ends) > 1:
		s.reads--
		return s.ends[len(s.ends)-2], nil
	case time.Now().Before(s.until):
		return s.lacks, nil
	}
	return s.Store.End(ctx, c)
}

func (s *deposedStore) Health(ctx context.Context) (store.Health, error) {
	h, err := s.Store.Health(ctx)
	h.Mode = "remote"
	return h, err
}

// onceStore is the store as a runner sees it that takes no job any more.
type onceStore struct {
	store.Store
	ended chan struct{}
}

func (s *onceStore) Take(ctx context.Context) (store.Lease, error) {
	select {
	case <-s.ended:
		<-ctx.Done()
		return nil, ctx.Err()
	default:
		return s.Store.Take(ctx)
	}
}

// newDeposed returns a fixture on such a store.
func newDeposed(t *testing.T, answers ...llmtest.Answer) (*fixture, *deposedStore) {
	h := newFixture(t, answers...)
	s := &deposedStore{Store: h.engine}
	h.config.Store = s
	return h, s
}

// The job of the next turn, read without the seal of the turn before, is not dropped.
func TestRunner_JobReadWithoutTheLatestRecordIsHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := newDeposed(t, llmtest.Late(10*time.Second, llmtest.Says("one")), llmtest.Says("two"))
		first := &onceStore{s, make(chan struct{})}
		s.appended = func(records []store.Record) {
			if len(s.ends) > 1 && records[len(records)-1].Type == "turn-sealed" && s.reads == 0 {
				s.reads, s.appended = 1, nil
				close(first.ended)
			}
		}
		desk := conversation.New(h.config)
		c := h.create(desk)
		h.say(desk, c, "first")
		h.say(desk, c, "second")
		h.config.Store, h.config.Workers = first, 1
		h.runner()
		time.Sleep(5 * time.Second)
		h.config.Store = s
		h.runner()
		time.Sleep(time.Minute)
		if got := turns(t, desk, c); len(got) != 2 || s.reads != 0 {
			t.Errorf("after one read without the latest record: got the turns %v, %d such reads left; want 2 and none", got, s.reads)
		}
	})
}

// An append that is stored, refused by another server and not shown by the next read is not made again.
func TestRunner_AppendThatWasStoredAndRefusedIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := llmtest.Calls(llmtest.Call("call-1", "work", `{}`))
		h, s := newDeposed(t, calls, llmtest.Fails(busy), llmtest.Says("done"))
		work := func(context.Context, json.RawMessage) (string, error) { return "done", nil }
		h.tools = []tool.Tool{{Tool: llm.Tool{Name: "work"}, Func: work}}
		desk := conversation.New(h.config)
		c := h.create(desk)
		s.refuses = true
		h.runner()
		h.say(desk, c, "hello")
		time.Sleep(10 * time.Minute)
		all := kinds(t, h.engine, c)
		for _, kind := range []string{"input-queued", "turn-running", "turn-start", "user-message", "tool-call", "tool-result", "turn-sealed"} {
			if n := count(all, kind); n != 1 {
				t.Errorf("got %d records %s, want 1: %v", n, kind, all)
			}
		}
		if n := count(all, "assistant-message"); n != 2 {
			t.Errorf("got %d answers, want 2: %v", n, all)
		}
	})
}

// A worker does not see the input of its job for longer than it waits for it.
func TestRunner_InputReadLateHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := newDeposed(t, llmtest.Says("hi"))
		desk := conversation.New(h.config)
		c := h.create(desk)
		h.runner()
		s.lacks, s.until = s.ends[0], time.Now().Add(15*time.Second)
		id := h.say(desk, c, "hello")
		time.Sleep(time.Minute)
		if got := turns(t, desk, c); got[id] != turn.Done {
			t.Errorf("got the turns %v, want %s done", got, id)
		}
	})
}

// A job whose input never comes is dropped, which the log says once, also if two workers have it.
func TestRunner_InputThatNeverCameIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		desk := conversation.New(h.config)
		c := h.create(desk)
		h.runner()
		h.config.Store = &refusingStore{Store: h.engine}
		for range 2 {
			if _, err := conversation.New(h.config).Submit(t.Context(), c, "t1", "hello"); err == nil {
				t.Fatal("submit: got no error from a store that appends nothing")
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		health, err := h.engine.Health(t.Context())
		if got := kinds(t, h.engine, c); !slices.Equal(got, []string{"conversation-created", "input-removed"}) || err != nil || health.Due+health.Leased != 0 {
			t.Errorf("got the records %v and %+v, %v; want that the input is removed, and no job", got, health, err)
		}
	})
}

// refusingStore appends nothing.
type refusingStore struct{ store.Store }

func (*refusingStore) Append(context.Context, string, store.Position, ...store.Record) (store.Position, error) {
	return store.Position{}, store.ErrUnavailable
}

func TestGet_EndBeforeOnesOwnIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := newDeposed(t)
		desk := conversation.New(h.config)
		c := h.create(desk)
		h.say(desk, c, "hello")
		s.reads = 1
		_, err := desk.Get(t.Context(), c)
		if _, damaged := errors.AsType[*store.Damage](err); damaged || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a server without the latest record: got %v, want %v and no damage", err, store.ErrUnavailable)
		}
		if v, err := desk.Get(t.Context(), c); err != nil || len(v.Inputs) != 1 {
			t.Errorf("the next read: got %+v, %v; want the input", v.Inputs, err)
		}
	})
}

// extend appends records to a log.
func (h *fixture) extend(c string, records ...store.Record) {
	h.t.Helper()
	at, err := h.engine.End(h.t.Context(), c)
	if err == nil {
		_, err = h.engine.Append(h.t.Context(), c, at, records...)
	}
	if err != nil {
		h.t.Fatalf("append: %v", err)
	}
}

// Messages that an earlier version has stored twice are shown to a model once.
func TestRunner_MessageStoredTwiceIsFoldedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("and now"))
		desk := conversation.New(h.config)
		c := h.create(desk)
		before := []turn.Event{turn.Start{ID: "t1"}, turn.UserMessage{Text: "how are you?"}}
		answer := []turn.Event{turn.AssistantMessage{Name: large, Content: llm.Content{llm.Text{Text: "well"}}, Reason: llm.Stop}, turn.Usage{}}
		events := slices.Concat(before, before, answer, answer, answer, []turn.Event{turn.Sealed{Status: turn.Done}})
		var records []store.Record
		for _, e := range events {
			rec, err := conversation.EventRecord(c, "t1", e, time.Now())
			if err != nil {
				t.Fatalf("record: %v", err)
			}
			records = append(records, rec)
		}
		h.extend(c, records...)
		h.runner()
		h.say(desk, c, "really?")
		synctest.Wait()
		var said []string
		for _, m := range h.model.(*llmtest.Model).Requests()[0].Messages {
			said = append(said, m.Text())
		}
		if got := strings.Join(said, " | "); got != "how are you? | well | really?" {
			t.Errorf("the model is shown %q, want each message once", got)
		}
		if v, err := desk.Get(t.Context(), c); err != nil || v.Turns != 2 {
			t.Errorf("got %d turns, %v; want 2", v.Turns, err)
		}
	})
}

// Inputs that have no job get one: when a runner starts, when it has missed messages, and every hour.
func TestRunner_InputWithoutJobIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("1"), llmtest.Says("2"), llmtest.Says("3"))
		gap := make(chan struct{})
		h.config.Store = &gapStore{h.engine, gap}
		desk := conversation.New(h.config)
		var all []string
		add := func() {
			c := h.create(desk)
			input := wire.InputQueued{Ref: wire.Ref{ConversationID: c, TurnID: "t1"}, Text: "hello"}
			body, err := wire.Marshal(input)
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			h.extend(c, store.Record{Time: time.Now(), Turn: "t1", Type: "input-queued", Body: body})
			all = append(all, c)
			time.Sleep(2 * time.Minute)
		}
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			if got := turns(t, desk, all[len(all)-1]); got["t1"] != turn.Done {
				t.Errorf("%s: got the turns %v, want t1 done", when, got)
			}
		}
		add()
		h.runner()
		check("after the start")
		add()
		close(gap)
		check("after missed messages")
		add()
		time.Sleep(time.Hour)
		check("after an hour")
	})
}

// A turn continues whose schedule has fallen due and never fires, as on servers that had no space then.
func TestRunner_OverdueTurnWithoutJobIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("1")) // the last wait is parked
		h.config.Store = stuckStore{h.engine}
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		for _, tt := range []struct {
			after       time.Duration
			asked, done int
		}{{30 * time.Minute, 4, 0}, {30 * time.Minute, 5, 1}} {
			time.Sleep(tt.after)
			synctest.Wait()
			asked, done := len(h.model.(*llmtest.Model).Requests()), len(turns(t, runner, c))
			if asked != tt.asked || done != tt.done {
				t.Errorf("%v later: got %d requests and %d sealed turns, want %d and %d", tt.after, asked, done, tt.asked, tt.done)
			}
		}
	})
}

// stuckStore is a store whose schedules never fire.
type stuckStore struct{ store.Store }

func (s stuckStore) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	if at.After(time.Now()) {
		return nil
	}
	return s.Store.Schedule(ctx, j, at)
}

// gapStore is a store whose subscribers miss messages once.
type gapStore struct {
	store.Store
	gap chan struct{} // closed when that is so
}

func (s *gapStore) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	in, err := s.Store.Subscribe(ctx, topic)
	out := make(chan store.Message)
	go func() {
		defer close(out)
		for gap := s.gap; ; {
			m, open := store.Message{Gap: true}, true
			select {
			case m, open = <-in:
			case <-gap:
				gap = nil
			}
			if !open {
				return
			}
			select {
			case out <- m:
			case <-ctx.Done():
			}
		}
	}()
	return out, err
}
