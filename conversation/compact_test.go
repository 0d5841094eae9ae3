package conversation_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

func TestCompact_SurvivesItsRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := append([]llmtest.Answer{llmtest.Says("one"), llmtest.Says("two")}, fails(6, llmtest.Says("They talked."), llmtest.Says("three"))...)
		h := newFixture(t, answers...)
		runner, end := h.runner()
		c := h.create(runner)
		h.say(runner, c, "question one")
		h.say(runner, c, "question two")
		follow(t, runner, c, 0, 2)
		for range 2 { // the second changes nothing
			if id, err := runner.Compact(t.Context(), c, "small", "keep the names"); id != "small" || err != nil {
				t.Fatalf("compact: got %q, %v, want small", id, err)
			}
		}
		time.Sleep(2 * time.Minute) // parked
		end()
		runner, _ = h.runner()
		lines := follow(t, runner, c, 0, 3)
		if all := strings.Join(lines, "\n"); !strings.Contains(all, "compacted") || strings.Count(all, "turn-start") != 3 {
			t.Errorf("events: got\n%s\nwant the summary in a turn of its own", all)
		}
		h.wantTitle(runner, c, "question one")
		h.say(runner, c, "question three")
		follow(t, runner, c, 0, 4)
		asked := h.model.(*llmtest.Model).Requests()
		last := asked[len(asked)-1].Messages
		if len(last) != 3 || !strings.HasSuffix(last[0].Text(), "They talked.") || last[2].Text() != "question three" {
			t.Errorf("messages after it: got %v, want the summary, the last answer and the question", last)
		}
	})
}

func TestCompact_CannotBeEditedOrSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		idle := conversation.New(h.config)
		c := h.create(idle)
		if _, err := idle.Compact(t.Context(), c, "small", "keep the names"); err != nil {
			t.Fatalf("compact: %v", err)
		}
		if err := idle.Steer(t.Context(), c, "small"); !errors.Is(err, conversation.ErrNotQueued) {
			t.Errorf("steer: got %v, want ErrNotQueued", err)
		}
		if err := idle.Edit(t.Context(), c, "small", "x"); !errors.Is(err, conversation.ErrNotQueued) {
			t.Errorf("edit: got %v, want ErrNotQueued", err)
		}
		h.wantTitle(idle, c, "")
		if err := idle.Remove(t.Context(), c, "small"); err != nil {
			t.Errorf("remove: %v", err)
		}
	})
}
