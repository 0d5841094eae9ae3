package conversation_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// A record of a turn is damaged on the disk, or all of its end. The turn ends all the same, and the conversation
// continues.
func TestRunner_DamagedFileFailsTurnOnly(t *testing.T) {
	for name, texts := range map[string][]string{
		"its end":              {"turn-sealed"},
		"all behind its claim": {"model-requested", "assistant-message", "usage", "turn-sealed"},
		"its answer":           {"the answer"},
		"its beginning":        {"user-message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := bolt.Config{Dir: t.TempDir(), Reserve: 1}
			h := newFixture(t, llmtest.Says("the answer"))
			h.engine = opened(t, config)
			h.config.Store = h.engine
			runner, end := h.runner()
			c := h.create(runner)
			h.say(runner, c, "hello")
			follow(t, runner, c, 0, 1)
			end()
			shut(t, h.engine)

			damage(t, filepath.Join(config.Dir, "conversations.db"), texts)

			h.engine = opened(t, config)
			h.config.Store, h.model = h.engine, llmtest.New(large, llmtest.Says("another answer"))
			runner, end = h.runner()
			defer end()
			next := h.say(runner, c, "again")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for e, err := range runner.Attach(ctx, c, 0) {
				if err != nil {
					t.Fatalf("attach: %v", err)
				}
				if wire.TurnOf(e.Body) == next && wire.Type(e.Body) == "turn-sealed" {
					break
				}
			}
			got := history(t, runner, c)
			if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "lost ") }) || !slices.Contains(got, "model: another answer") {
				health, err := h.engine.Health(t.Context())
				t.Errorf("got %q, want to be told of the loss and the next answer; the store has %+v, %v", got, health.Losses, err)
			}
		})
	}
}

// The job of a turn is damaged on the disk. It is dropped, and the turn gets another one.
func TestRunner_DamagedJobIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := bolt.Config{Dir: t.TempDir(), Reserve: 1}
		h := newFixture(t, llmtest.Says("the answer"))
		h.engine = opened(t, config)
		h.config.Store = h.engine
		desk := conversation.New(h.config)
		c := h.create(desk)
		id := h.say(desk, c, "hello")
		shut(t, h.engine)

		damage(t, filepath.Join(config.Dir, "conversations.db"), []string{`{"conversation":`})
		time.Sleep(2 * time.Minute)

		h.engine = opened(t, config)
		h.config.Store = h.engine
		runner, end := h.runner()
		time.Sleep(time.Minute)
		health, err := h.engine.Health(t.Context())
		if got := turns(t, runner, c); got[id] != turn.Done || err != nil || len(health.Losses) != 1 || !health.Losses[0].Jobs || health.Due+health.Leased > 0 {
			t.Errorf("got the turns %v and %+v, %v; want %s done, and one lost job", got, health, err, id)
		}
		end()
		shut(t, h.engine)
	})
}

// damage flips a bit in every place of a file that has one of some texts: pages that are free have copies.
func damage(t *testing.T, file string, texts []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	for _, text := range texts {
		flipped := []byte(text)
		flipped[0] ^= 1
		data = bytes.ReplaceAll(data, []byte(text), flipped)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatalf("write the file: %v", err)
	}
}
