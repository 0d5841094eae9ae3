package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// errDied is a worker that dies as it keeps an event.
var errDied = errors.New("the worker died")

// life is a conversation whose workers die at random.
type life struct {
	answers []llmtest.Answer
	deaths  map[int]bool // at these appends, counted over all lives
	turns   int

	mu      sync.Mutex
	runs    map[string]int // of the tool, by call
	results map[string]bool
	wrong   []string

	appends int
	kept    []turn.Event
}

// answer returns any answer; calls have ids of their own.
func answer(n int) *rapid.Generator[llmtest.Answer] {
	return rapid.Custom(func(t *rapid.T) llmtest.Answer {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return llmtest.Fails(busy)
		case 1:
			return llmtest.Breaks("half an answer", cut)
		case 2:
			return llmtest.Fails(long)
		case 3:
			return llmtest.Says("a whole answer")
		case 4:
			return llmtest.Fails(denied)
		}
		var calls []llm.ToolCall
		for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
			id := strconv.Itoa(n) + "." + strconv.Itoa(i)
			calls = append(calls, llmtest.Call(id, "count", `{"id":"`+id+`"}`))
		}
		return llmtest.Calls(calls...)
	})
}

// keep stores events, or dies before or after.
func (l *life) keep(_ context.Context, events ...turn.Event) error {
	l.appends++
	if l.deaths[-l.appends] {
		return errDied // before
	}
	for _, e := range events {
		if r, ok := e.(turn.ToolResult); ok {
			l.mu.Lock()
			l.results[r.ID] = true
			l.mu.Unlock()
		}
	}
	l.kept = append(l.kept, events...)
	if l.deaths[l.appends] {
		return errDied // after: the event lasts, and no reader saw it
	}
	return nil
}

func (l *life) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// count is a tool that must not run after its result was kept.
func (l *life) count(_ context.Context, arguments json.RawMessage) (string, error) {
	var in struct{ ID string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := in.ID
	if l.results[id] {
		l.wrong = append(l.wrong, "run after its result: "+id)
	}
	l.runs[id]++
	return strconv.Itoa(l.runs[id]), nil
}

// live runs all turns, with as many workers as needed.
func (l *life) live(ctx context.Context) {
	w := agent.Agent{
		Model: llmtest.New(large, l.answers...), Persist: l.keep, Retry: patient(),
		Tools: []tool.Tool{{Tool: llm.Tool{Name: "count"}, Func: l.count}},
	}
	for n := range l.turns {
		input := turn.Begin(strconv.Itoa(n), "go on")
		for {
			before := len(l.kept)
			died := l.worker(ctx, w, input)
			if !died {
				break
			}
			if len(l.kept) > before {
				input = nil // it was taken
			}
		}
	}
}

// worker runs a turn until it is sealed or the worker dies.
func (l *life) worker(ctx context.Context, w agent.Agent, input []turn.Event) (died bool) {
	state := turn.Replay(l.kept...)
	for e, err := range w.Run(ctx, state.Clone(), input...) {
		switch {
		case errors.Is(err, errDied):
			return true
		case err != nil:
			l.complain("%v", err)
			return false
		}
		state = state.Apply(e)
	}
	if diff := cmp.Diff(turn.Replay(l.kept...), state, cmp.AllowUnexported(turn.State{})); diff != "" {
		l.complain("the replay is another: %s", diff)
	}
	return false
}

// check checks the kept events.
func (l *life) check() {
	sealed := 0
	for _, e := range l.kept {
		if turn.Type(e) == "turn-sealed" {
			sealed++
		}
	}
	for id := range l.results {
		if l.runs[id] == 0 {
			l.complain("%s has a result and never ran", id)
		}
	}
	if sealed != l.turns {
		l.complain("%d seals of %d turns", sealed, l.turns)
	}
	for id, n := range l.runs {
		if n > 1+len(l.deaths) {
			l.complain("%s ran %d times", id, n)
		}
	}
}

// For any answers of the model and any deaths of workers, every turn is sealed once,
// no tool is run again after its result was kept, and the events that were
// kept add up to what the live runs had.
func TestReplay_EqualsLive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &life{deaths: map[int]bool{}, runs: map[string]int{}, results: map[string]bool{}, turns: rapid.IntRange(1, 3).Draw(rt, "turns")}
		for n := range rapid.IntRange(0, 12).Draw(rt, "answers") {
			l.answers = append(l.answers, answer(n).Draw(rt, "answer"))
		}
		for _, d := range rapid.SliceOfN(rapid.IntRange(-20, 20), 0, 5).Draw(rt, "deaths") {
			l.deaths[d] = true
		}
		synctest.Test(t, func(t *testing.T) { l.live(t.Context()) })
		l.check()
		if len(l.wrong) > 0 {
			rt.Fatalf("replay differs: %v", l.wrong)
		}
	})
}

func BenchmarkPart(b *testing.B) {
	const parts = 1000
	var all []llm.Part
	for range parts {
		all = append(all, llm.Text{Text: "word "})
	}
	scripted := &llmtest.Model{Then: llmtest.Parts(append(all, llm.End{Reason: llm.Stop})...)}
	b.Run("model alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range scripted.Stream(b.Context(), llm.Request{}) {
			}
		}
		perPart(b, parts)
	})
	b.Run("turn", func(b *testing.B) {
		b.ReportAllocs()
		w := agent.Agent{Model: scripted, Retry: retry.Retrier{Policy: patient().Policy}}
		for b.Loop() {
			for range w.Run(b.Context(), turn.State{}, turn.Begin("", "go")...) {
			}
		}
		perPart(b, parts)
	})
}

// perPart reports the time and memory of one part.
func perPart(b *testing.B, parts int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(parts), "ns/part")
}
