package conversation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

func TestList_HighestIDFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		runner, _ := h.runner()
		for _, id := range []string{"b", "a", "d", "c"} {
			if _, err := runner.Create(t.Context(), id, conversation.Settings{Model: "acme/large", Title: strings.ToUpper(id)}); err != nil {
				t.Fatalf("create: %v", err)
			}
		}
		if err := runner.Delete(t.Context(), "b"); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := h.engine.Append(t.Context(), "bb", store.Position{}, store.Record{Type: "other"}); err != nil {
			t.Errorf("append: %v", err)
		}
		var got []string
		for v, err := range runner.List(t.Context(), "d") {
			if err != nil || v.Created.IsZero() || v.Last != 1 {
				t.Errorf("%+v, %v", v, err)
			}
			got = append(got, v.Settings.Title)
		}
		if !slices.Equal(got, []string{"C", "A"}) {
			t.Errorf("titles: got %q, want C and A", got)
		}
	})
}

func TestHistory_YieldsRecordedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hello you"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		want := mute(follow(t, runner, c, 0, 1))
		var got []string
		for e, err := range runner.History(t.Context(), c, 0) {
			if err != nil {
				t.Errorf("history: %v", err)
			}
			got = append(got, say(e))
		}
		expect(t, got, strings.Join(want, "\n"))
		for _, err := range runner.History(t.Context(), "none", 0) {
			if !errors.Is(err, conversation.ErrNotFound) {
				t.Errorf("history: %v", err)
			}
		}
	})
}

func TestAttach_EndsWhenConversationIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		runner, _ := h.runner()
		c := h.create(runner)
		ended := make(chan error, 1)
		go func() {
			for _, err := range runner.Attach(t.Context(), c, 0) {
				ended <- err
			}
		}()
		synctest.Wait()
		if err := runner.Delete(t.Context(), c); err != nil {
			t.Errorf("delete: %v", err)
		}
		if err := <-ended; !errors.Is(err, store.ErrDeleted) {
			t.Errorf("delete: %v", err)
		}
	})
}

func TestSubmit_SameIDInTwoConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"), llmtest.Fails(busy), llmtest.Says("two"))
		runner, _ := h.runner()
		a, b := h.create(runner), h.create(runner)
		for _, c := range []string{a, b} {
			if _, err := runner.Submit(t.Context(), c, "1", "hello"); err != nil {
				t.Fatalf("submit: %v", err)
			}
		}
		for _, c := range []string{a, b} {
			if got := follow(t, runner, c, 0, 1); len(got) < 6 || !strings.HasPrefix(got[len(got)-1], "sealed done") {
				t.Errorf("%q", got)
			}
		}
	})
}

func TestRetryNow_IsNotBlockedByBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "in an hour", Wait: time.Hour}
		h := newFixture(t, llmtest.Fails(quiet), llmtest.Says("hi"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(time.Minute)
		if err := runner.RetryNow(t.Context(), c); err != nil {
			t.Errorf("retry now: %v", err)
		}
		began := time.Now()
		follow(t, runner, c, 0, 1)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
