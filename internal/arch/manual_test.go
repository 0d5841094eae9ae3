package arch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

func Example_retryDo() {
	ctx := context.Background()
	ask := func(_ context.Context, n int) (string, error) { return fmt.Sprintf("answered in try %d", n), nil }
	answer, err := retry.Do(ctx, retry.Retrier{Policy: policy.Simple()},
		func(ctx context.Context, n int) (string, error) { return ask(ctx, n) }) // n counts tries from 1
	fmt.Println(answer, err)
	// Output: answered in try 1 <nil>
}

// memory is a journal for tests.
type memory struct{ events []turn.Event }

func (m *memory) append(_ context.Context, events ...turn.Event) error {
	m.events = append(m.events, events...)
	return nil
}

func TestManual_AgentKeepsWhatItShows(t *testing.T) {
	primary := llmtest.New(llm.Name{Provider: "acme", Model: "large"}, llmtest.Says("An umbrella."))
	secondary := llmtest.New(llm.Name{Provider: "acme", Model: "small"})
	weather := tool.Func("weather", "Returns the weather of a city.",
		func(context.Context, struct{}) (string, error) { return "rain", nil })
	var journal memory
	var state turn.State
	run := func(ctx context.Context) error {
		a := agent.Agent{
			Model:    primary,
			Fallback: []llm.Model{secondary},
			Patience: 10 * time.Minute, // then the fallback takes over
			Tools:    []tool.Tool{weather},
			Retry:    retry.Retrier{Policy: policy.Patient()},
			Persist:  journal.append, // called before an event is shown
		}
		for event, err := range a.Run(ctx, state, turn.Begin("t1", "What should I wear in Cork?")...) {
			if err != nil {
				return err
			}
			state = state.Apply(event)
		}
		return nil
	}
	if err := run(t.Context()); err != nil {
		t.Fatalf("run agent: %v", err)
	}
	if got, want := len(turn.Replay(journal.events...).Messages()), len(state.Messages()); got != want || want != 2 {
		t.Errorf("messages of the replayed journal: got %d, want %d", got, want)
	}
}

func TestManual_EventsAsJSONLines(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "turn.jsonl"))
	if err != nil {
		t.Fatalf("create file: %v", err)
	}
	defer file.Close()
	out := json.NewEncoder(file)
	persist := func(_ context.Context, events ...turn.Event) error {
		for _, e := range events {
			if err := out.Encode(wire.Event{Time: time.Now(), Body: wire.Turn{Event: e}}); err != nil {
				return err
			}
		}
		return file.Sync()
	}
	if err := persist(t.Context(), turn.Begin("t1", "Hello?")...); err != nil {
		t.Fatalf("persist events: %v", err)
	}
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	read := func(file io.Reader) (state turn.State, err error) {
		for in := json.NewDecoder(file); in.More(); {
			var line wire.Event
			if err := in.Decode(&line); err != nil { // io.ErrUnexpectedEOF: the process died while it wrote this line
				return state, err
			}
			if t, ok := line.Body.(wire.Turn); ok {
				state = state.Apply(t.Event)
			}
		}
		return state, nil
	}
	state, err := read(bytes.NewReader(written))
	if err != nil || len(state.Messages()) != 1 {
		t.Errorf("read events: got %d messages and error %v, want 1 and none", len(state.Messages()), err)
	}
	if _, err := read(strings.NewReader(string(written[:len(written)-4]))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read a torn line: got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
