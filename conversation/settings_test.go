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
func (h *house) noting() *[]string {
	var models []string
	world := h.config.Agent
	h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
		models = append(models, s.Model)
		return world(ctx, s)
	}
	return &models
}

func (h *house) change(host *conversation.Runner, conversation string, s conversation.Settings) {
	h.t.Helper()
	if err := host.Change(h.t.Context(), conversation, s); err != nil {
		h.t.Fatalf("change: %v", err)
	}
}

func TestTheTurnsToComeAreMadeWithOtherSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, fails(8, llmtest.Says("one"), llmtest.Says("two"))...)
		models := h.noting()
		host, end := h.host()
		c := h.create(host)
		h.say(host, c, "1")
		synctest.Wait()
		h.say(host, c, "2")
		time.Sleep(40 * time.Minute) // the wait of 30 minutes has begun after 31:45
		h.change(host, c, other)
		h.change(host, c, other)
		end()
		host, _ = h.host() // the turn in progress goes on elsewhere, with what it has
		expect(t, mute(follow(t, host, c, 0, 2))[:5], `
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

// settingsOf returns what readers, a list and a log in another house say that a
// conversation is made with.
func settingsOf(t *testing.T, h *house, host *conversation.Runner, c string) (all []conversation.Settings) {
	t.Helper()
	v, err := host.Get(t.Context(), c)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	all = append(all, v.Settings)
	elsewhere := newHouse(t)
	idle := conversation.New(elsewhere.config)
	records := h.records(c)
	elsewhere.restore(idle, c, records, len(records))
	if v, err = idle.Get(t.Context(), c); err != nil {
		t.Fatalf("get: %v", err)
	}
	for e := range host.History(t.Context(), c, 0) {
		if b, ok := e.Body.(wire.ConversationChanged); ok && b.ConversationID == c {
			all = append(all, b.Settings)
		}
	}
	return append(all, v.Settings)
}

func TestEverybodySeesWhatWasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Says("one"))
		host, _ := h.host()
		c := h.create(host)
		h.change(host, c, other)
		all := settingsOf(t, h, host, c)
		if len(all) != 3 {
			t.Errorf("told %d times", len(all))
		}
		for _, s := range all {
			if diff := cmp.Diff(other, s); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		}
		for range 2 { // at the change, and when others things have happened behind it
			for v, err := range host.List(t.Context(), "") {
				if err != nil || v.Settings.Model != other.Model || v.Settings.Title != other.Title {
					t.Errorf("%+v, %v", v, err)
				}
			}
			h.say(host, c, "1")
			follow(t, host, c, 0, 1)
		}
		h.change(host, c, conversation.Settings{Model: "acme/large"})
		if v, err := host.Get(t.Context(), c); err != nil || cmp.Diff(conversation.Settings{Model: "acme/large"}, v.Settings) != "" {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestATitleOutlastsAWorkerThatAnotherStoreTakesForDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newHouse(t, llmtest.Late(time.Hour, llmtest.Says("late")))
		host, _ := old.host()
		c := old.create(host)
		old.change(host, c, other)
		old.say(host, c, "hello")
		synctest.Wait()
		h := newHouse(t)
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

func TestWhatHasFailedIsAskedAgainWithoutBeingSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &fault.Error{Kind: fault.Invalid, Status: 400, Message: "no"}
		h := newHouse(t, llmtest.Fails(refused), llmtest.Says("hi"))
		host, _ := h.host()
		c := h.create(host)
		if _, err := host.RetryTurn(t.Context(), c, ""); !errors.Is(err, conversation.ErrAnswered) {
			t.Error("nothing was ever said:", err)
		}
		h.say(host, c, "hello")
		follow(t, host, c, 0, 1)
		for range 2 {
			if id, err := host.RetryTurn(t.Context(), c, "again"); err != nil || id != "again" {
				t.Errorf("retry turn: got id %q, error %v, want again", id, err)
			}
		}
		if err := host.Edit(t.Context(), c, "again", "x"); !errors.Is(err, conversation.ErrNotQueued) {
			t.Errorf("edit: %v", err)
		}
		expect(t, mute(follow(t, host, c, 0, 2)), `
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
		if _, err := host.RetryTurn(t.Context(), c, ""); !errors.Is(err, conversation.ErrAnswered) {
			t.Error("it has been answered:", err)
		}
		if _, err := host.RetryTurn(t.Context(), c, "again"); err != nil {
			t.Error("the same once more:", err)
		}
	})
}

// The job of a turn is on the disk before its record is.
func TestAskingAgainOutlastsTheProcessThatTookIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, llmtest.Fails(&fault.Error{Kind: fault.Invalid, Message: "no"}), llmtest.Says("hi"))
		host, end := h.host()
		c := h.create(host)
		h.say(host, c, "hello")
		follow(t, host, c, 0, 1)
		end()
		killed := &mortal{Store: h.engine}
		h.config.Store = &meddler{Store: killed, before: once("input-queued", 1, func() { killed.dead.Store(true) })}
		_, _ = conversation.New(h.config).RetryTurn(t.Context(), c, "again")
		h.config.Store = h.engine
		host, _ = h.host()
		if got := follow(t, host, c, 0, 2); got[len(got)-1] != "sealed done, 0 retries, 0ms" {
			t.Errorf("%q", got)
		}
	})
}
