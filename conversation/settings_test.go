package conversation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/wire"
)

// other settings than those of create.
var other = conversation.Settings{
	Model: "acme/small", Fallback: []string{"acme/large"}, Patience: wire.Millis(1500 * time.Millisecond), System: "Be <brief>.", Policy: "simple", Effort: "low", Title: "Files",
}

// noting notes the models that turns are made with.
func (h *fixture) noting() *[]string {
	var models []string
	world := h.config.Agent
	h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
		models = append(models, s.Model)
		return world(ctx, s)
	}
	return &models
}

func (h *fixture) change(runner *conversation.Runner, conversation string, s conversation.Settings) {
	h.t.Helper()
	if err := runner.Change(h.t.Context(), conversation, s); err != nil {
		h.t.Fatalf("change: %v", err)
	}
}

func TestChange_AppliesToLaterTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, fails(8, llmtest.Says("one"), llmtest.Says("two"))...)
		models := h.noting()
		runner, end := h.runner()
		c := h.create(runner)
		h.say(runner, c, "1")
		synctest.Wait()
		h.say(runner, c, "2")
		time.Sleep(40 * time.Minute) // the wait of 30 minutes has begun after 31:45
		h.change(runner, c, other)
		h.change(runner, c, other)
		end()
		runner, _ = h.runner() // the turn in progress goes on elsewhere, with what it has
		expect(t, mute(follow(t, runner, c, 0, 2))[:5], `
			queued: 1
			turn-start
			user: 1
			queued: 2
			conversation-changed`)
		for _, model := range (*models)[:len(*models)-1] {
			if model != "acme/large" {
				t.Errorf("models asked: got %q, want acme/large before the change", *models)
			}
		}
		if last := (*models)[len(*models)-1]; last != other.Model {
			t.Errorf("models asked: got %q, want %s last", *models, other.Model)
		}
	})
}

// settingsOf returns what readers, a list and a log in another fixture say that a
// conversation is made with.
func settingsOf(t *testing.T, h *fixture, runner *conversation.Runner, c string) (all []conversation.Settings) {
	t.Helper()
	v, err := runner.Get(t.Context(), c)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	all = append(all, v.Settings)
	elsewhere := newFixture(t)
	idle := conversation.New(elsewhere.config)
	records := h.records(c)
	elsewhere.restore(idle, c, records, len(records))
	if v, err = idle.Get(t.Context(), c); err != nil {
		t.Fatalf("get: %v", err)
	}
	for e := range runner.History(t.Context(), c, 0) {
		if b, ok := e.Body.(wire.ConversationChanged); ok && b.ConversationID == c {
			all = append(all, b.Settings)
		}
	}
	return append(all, v.Settings)
}

func TestChange_ShowsInAllViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.change(runner, c, other)
		all := settingsOf(t, h, runner, c)
		if len(all) != 3 {
			t.Errorf("told %d times", len(all))
		}
		for _, s := range all {
			if diff := cmp.Diff(other, s); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		}
		for range 2 { // at the change, and when others things have happened behind it
			for v, err := range runner.List(t.Context(), "") {
				if err != nil || v.Settings.Model != other.Model || v.Settings.Title != other.Title {
					t.Errorf("%+v, %v", v, err)
				}
			}
			h.say(runner, c, "1")
			follow(t, runner, c, 0, 1)
		}
		h.change(runner, c, conversation.Settings{Model: "acme/large"})
		if v, err := runner.Get(t.Context(), c); err != nil || cmp.Diff(conversation.Settings{Model: "acme/large", Title: "1"}, v.Settings) != "" {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestRestore_KeepsChangedTitle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newFixture(t, llmtest.Late(time.Hour, llmtest.Says("late")))
		runner, _ := old.runner()
		c := old.create(runner)
		old.change(runner, c, other)
		old.say(runner, c, "hello")
		synctest.Wait()
		h := newFixture(t)
		idle := conversation.New(h.config)
		all := old.records(c)
		h.restore(idle, c, all, len(all))
		for v, err := range idle.List(t.Context(), "") {
			if err != nil || v.Settings.Title != other.Title {
				t.Errorf("%+v, %v", v, err)
			}
		}
	})
}

func TestRetryTurn_AnswersFailedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &fault.Error{Kind: fault.Invalid, Status: 400, Message: "no"}
		h := newFixture(t, llmtest.Fails(refused), llmtest.Says("hi"))
		runner, _ := h.runner()
		c := h.create(runner)
		if _, err := runner.RetryTurn(t.Context(), c, ""); !errors.Is(err, conversation.ErrAnswered) {
			t.Error("nothing was ever said:", err)
		}
		h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
		for range 2 {
			if id, err := runner.RetryTurn(t.Context(), c, "again"); err != nil || id != "again" {
				t.Errorf("retry turn: got id %q, error %v, want again", id, err)
			}
		}
		if err := runner.Edit(t.Context(), c, "again", "x"); !errors.Is(err, conversation.ErrNotQueued) {
			t.Errorf("edit: %v", err)
		}
		expect(t, mute(follow(t, runner, c, 0, 2)), `
			queued: hello
			turn-start
			user: hello
			error: HTTP 400: no
			sealed failed, 0 retries, 0ms
			queued:
			turn-start
			model: hi
			usage
			sealed done, 0 retries, 0ms`)
		if last := h.model.(*llmtest.Model).Requests()[1].Messages; len(last) != 1 || last[0].Text() != "hello" {
			t.Errorf("%v", last)
		}
		if _, err := runner.RetryTurn(t.Context(), c, ""); !errors.Is(err, conversation.ErrAnswered) {
			t.Error("it has been answered:", err)
		}
		if _, err := runner.RetryTurn(t.Context(), c, "again"); err != nil {
			t.Error("the same once more:", err)
		}
	})
}
