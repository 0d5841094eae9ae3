package conversation_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

// titles returns the title of a conversation in each place that shows one.
func (h *fixture) titles(runner *conversation.Runner, c string) []string {
	h.t.Helper()
	v, err := runner.Get(h.t.Context(), c)
	if err != nil {
		h.t.Fatalf("get: %v", err)
	}
	all := []string{v.Settings.Title}
	for v, err := range runner.List(h.t.Context(), "") {
		if err != nil {
			h.t.Fatalf("list: %v", err)
		}
		all = append(all, v.Settings.Title)
	}
	recent, err := runner.Recent(h.t.Context(), 10)
	if err != nil {
		h.t.Fatalf("recent: %v", err)
	}
	for _, v := range recent {
		all = append(all, v.Settings.Title)
	}
	return all
}

func (h *fixture) wantTitle(runner *conversation.Runner, c, want string) {
	h.t.Helper()
	if got := h.titles(runner, c); !slices.Equal(got, []string{want, want, want}) {
		h.t.Errorf("title in Get, List, Recent: got %q, want %q in each", got, want)
	}
}

func TestTitle_IsFirstWordsUntilItIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"), llmtest.Says("two"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.wantTitle(runner, c, "")
		h.say(runner, c, "\n Why is\tthe sky blue?\nAnd the sea?")
		h.wantTitle(runner, c, "Why is the sky blue?")
		follow(t, runner, c, 0, 1)
		h.say(runner, c, "Something else")
		follow(t, runner, c, 0, 2)
		h.wantTitle(runner, c, "Why is the sky blue?")
		h.change(runner, c, conversation.Settings{Model: "acme/large", Title: "Blue"})
		h.wantTitle(runner, c, "Blue")
		h.change(runner, c, conversation.Settings{Model: "acme/large"})
		h.wantTitle(runner, c, "Why is the sky blue?")
	})
}

func TestTitle_SetAtCreationStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"))
		runner, _ := h.runner()
		c, err := runner.Create(t.Context(), "", conversation.Settings{Model: "acme/large", Title: "Blue"})
		if err != nil {
			t.Fatalf("create: %v", err)
		}
		h.say(runner, c, "Why?")
		follow(t, runner, c, 0, 1)
		h.wantTitle(runner, c, "Blue")
	})
}

func TestTitle_FollowsAMessageThatIsEditedOrRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		idle := conversation.New(h.config) // works on nothing
		c := h.create(idle)
		first, second := h.say(idle, c, "Frist"), h.say(idle, c, "Second")
		if err := idle.Edit(t.Context(), c, first, "First"); err != nil {
			t.Fatalf("edit: %v", err)
		}
		h.wantTitle(idle, c, "First")
		for _, step := range []struct{ removed, want string }{{first, "Second"}, {second, ""}} {
			if err := idle.Remove(t.Context(), c, step.removed); err != nil {
				t.Fatalf("remove: %v", err)
			}
			h.wantTitle(idle, c, step.want)
		}
	})
}

// Logs of older programs have no caption with the first words.
func TestTitle_OfAnOldLogIsItsFirstWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		runner := conversation.New(h.config)
		made, err := conversation.CreatedRecord(conversation.Settings{Model: "acme/large"}, time.Now())
		if err != nil {
			t.Fatalf("record: %v", err)
		}
		old := []store.Record{made, {Type: "input-queued", Turn: "t1", Body: []byte(`{"conversationId":"old","turnId":"t1","text":"Why is it?"}`)}, {Type: "input-steers", Turn: "t1", Body: []byte(`{}`)}}
		if _, err := h.engine.Append(t.Context(), "old", store.Position{}, old...); err != nil {
			t.Fatalf("append: %v", err)
		}
		h.wantTitle(runner, "old", "Why is it?")
	})
}

func TestTitleOf_OneShortLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		" \n ":                             "",
		"hello":                            "hello",
		"\n  hello \t you\nand you":        "hello you",
		strings.Repeat("ä", 60):            strings.Repeat("ä", 60),
		strings.Repeat("ä", 61):            strings.Repeat("ä", 59) + "…",
		strings.Repeat("\n", 9) + "x\ny\n": "x",
	} {
		if got := conversation.TitleOf(text); got != want {
			t.Errorf("TitleOf(%q): got %q, want %q", text, got, want)
		}
	}
}
