package conversation_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/wire"
)

// The file with the end of a turn is cut on the disk, or a message in the middle of it is damaged. The turn is
// over all the same, and the conversation goes on.
func TestRunner_DamagedFileFailsTurnOnly(t *testing.T) {
	for name, harm := range map[string]func([]byte) []byte{
		"the last 7 bytes cut":           func(data []byte) []byte { return data[:len(data)-7] },
		"cut behind the claim":           func(data []byte) []byte { return data[:bytes.Index(data, []byte("turn-running"))+200] },
		"a bit flipped in the answer":    func(data []byte) []byte { return flip(data, "the answer") },
		"a bit flipped in the beginning": func(data []byte) []byte { return flip(data, "user-message") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := jetstream.Config{Dir: t.TempDir(), Reserve: 1}
			h := newFixture(t, llmtest.Says("the answer"))
			h.engine = opened(t, config)
			h.config.Store = h.engine
			runner, end := h.runner()
			c := h.create(runner)
			h.say(runner, c, "hello")
			follow(t, runner, c, 0, 1)
			end()
			shut(t, h.engine)

			block := filepath.Join(config.Dir, "store", "jetstream", "$G", "streams", "CONVERSATIONS", "msgs", "1.blk")
			data, err := os.ReadFile(block)
			if err != nil {
				t.Fatalf("read the block: %v", err)
			}
			if err := os.WriteFile(block, harm(data), 0o600); err != nil {
				t.Fatalf("write the block: %v", err)
			}

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

// flip flips a bit of the first place of a text.
func flip(data []byte, text string) []byte {
	data[bytes.Index(data, []byte(text))] ^= 1
	return data
}
