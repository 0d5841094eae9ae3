package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

func says(text string) turn.Event {
	return turn.AssistantMessage{Content: llm.Content{llm.Text{Text: text}}, Reason: llm.Stop}
}

func calls(ids ...string) turn.Event {
	var c llm.Content
	for _, id := range ids {
		c = append(c, llm.ToolCall{ID: id, Name: "look", Arguments: json.RawMessage(`{}`)})
	}
	return turn.AssistantMessage{Content: c, Reason: llm.Calls}
}

func begun(id string) turn.Event { return turn.ToolCall{ToolCall: llm.ToolCall{ID: id, Name: "look"}} }

func result(id, output string) turn.Event {
	return turn.ToolResult{ToolResult: llm.ToolResult{ID: id, Name: "look", Output: output}}
}

// need returns the need of a state in short.
func need(s turn.State) string {
	switch n := s.Next().(type) {
	case turn.Ask:
		return fmt.Sprintf("ask %d", len(n.Messages))
	case turn.Use:
		var words []string
		for _, c := range n.Calls {
			words = append(words, c.ID+map[bool]string{true: "?"}[c.Begun])
		}
		return "use " + strings.Join(words, " ")
	case turn.Seal:
		return "seal " + string(n.Status)
	}
	return "nothing"
}

func TestState_Next(t *testing.T) {
	type step struct {
		e    turn.Event
		need string
	}
	start, hello := step{turn.Start{}, "seal done"}, step{turn.UserMessage{Text: "hello"}, "ask 1"}
	for name, steps := range map[string][]step{
		"an answer":               {start, hello, {says("hi"), "seal done"}, {turn.Sealed{Status: turn.Done}, "nothing"}},
		"an answer without words": {start, hello, {says(""), "seal done"}, {turn.AssistantMessage{}, "seal done"}},
		"an error":                {start, hello, {turn.Error{}, "seal failed"}, {turn.Sealed{Status: turn.Failed}, "nothing"}},
		"tools, in any order": {
			start, hello,
			{calls("a", "b"), "use a b"},
			{begun("a"), "use a? b"},
			{begun("b"), "use a? b?"},
			{result("b", "2"), "use a?"},
			{result("a", "1"), "ask 3"},
			{says("done"), "seal done"},
		},
		"a result counts once": {start, hello, {calls("a"), "use a"}, {result("a", "1"), "ask 3"}, {result("a", "2"), "ask 3"}},
		"a word in between waits for the results": {
			start, hello,
			{calls("a"), "use a"},
			{turn.UserMessage{Text: "faster"}, "use a"},
			{result("a", "1"), "ask 4"},
			{calls("b"), "use b"},
			{result("b", "2"), "ask 6"},
		},
		"a word after the answer": {start, hello, {says("hi"), "seal done"}, {turn.UserMessage{Text: "and?"}, "ask 3"}},
		"what passes by":          {start, hello, {turn.TextDelta{Text: "h"}, "ask 1"}, {turn.Retry{}, "ask 1"}, {turn.Recovered{}, "ask 1"}},
		"the same again after a failure": {
			start, hello, {turn.Error{}, "seal failed"}, {turn.Sealed{Status: turn.Failed}, "nothing"}, {turn.Start{}, "ask 1"},
		},
		"an answer that broke off is continued": {
			start, hello,
			{turn.AssistantMessage{Content: llm.Content{llm.Text{Text: "I"}}, Partial: true}, "ask 3"},
			{turn.Sealed{Status: turn.Failed}, "nothing"},
			{turn.Start{}, "ask 3"},
			{says("am"), "seal done"},
			{turn.Sealed{Status: turn.Done}, "nothing"},
			{turn.Start{}, "seal done"},
		},
		"or answered by the user": {
			start, hello,
			{turn.AssistantMessage{Content: llm.Content{llm.Text{Text: "I"}}, Partial: true}, "ask 3"},
			{turn.Sealed{Status: turn.Failed}, "nothing"},
			{turn.Start{}, "ask 3"},
			{turn.UserMessage{Text: "yes?"}, "ask 3"},
			{says("am"), "seal done"},
		},
		"the same call twice": {start, hello, {calls("a", "a"), "use a a"}, {begun("a"), "use a? a"}, {begun("a"), "use a? a?"}, {result("a", "1"), "use a?"}, {result("a", "2"), "ask 3"}},
		"an abort among calls": {
			start, hello,
			{calls("a", "b"), "use a b"},
			{result("a", "1"), "use b"},
			{turn.Sealed{Status: turn.Aborted}, "nothing"},
			{turn.Start{}, "ask 3"},
		},
		"a turn that was never sealed": {start, hello, {calls("a"), "use a"}, {turn.Start{}, "ask 3"}},
	} {
		var s turn.State
		for i, step := range steps {
			s = s.Apply(step.e)
			if got := need(s); got != step.need {
				t.Errorf("%s: after step %d, %T, it needs %q, want %q", name, i, step.e, got, step.need)
			}
		}
	}
}

func TestState_ToolResultsInOrderOfCalls(t *testing.T) {
	s := turn.Replay(turn.Start{}, turn.UserMessage{Text: "go"}, calls("a", "b"), result("b", "2"), turn.UserMessage{Text: "faster"}, result("a", "1"))
	got := s.Messages()[2:]
	want := []llm.Message{
		llm.ToolMessage(llm.ToolResult{ID: "a", Name: "look", Output: "1"}, llm.ToolResult{ID: "b", Name: "look", Output: "2"}),
		llm.UserMessage("faster"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// event returns any event, with ids that collide often.
func event() *rapid.Generator[turn.Event] {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	return rapid.Custom(func(t *rapid.T) turn.Event {
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0:
			return turn.Start{}
		case 1:
			return turn.UserMessage{Text: rapid.String().Draw(t, "text")}
		case 2:
			return says(rapid.String().Draw(t, "text"))
		case 3, 4:
			return calls(rapid.SliceOfNDistinct(id, 1, 3, rapid.ID[string]).Draw(t, "ids")...)
		case 5:
			return begun(id.Draw(t, "id"))
		case 6, 7:
			return result(id.Draw(t, "id"), strings.Repeat("x", rapid.SampledFrom([]int{0, 300, 5000}).Draw(t, "size")))
		case 8:
			return turn.Sealed{Status: rapid.SampledFrom([]turn.Status{turn.Done, turn.Failed, turn.Aborted}).Draw(t, "status")}
		case 9:
			return turn.Error{Message: "no"}
		case 10:
			return turn.Compacted{Outputs: []string{id.Draw(t, "id")}}
		}
		return turn.AssistantMessage{Content: llm.Content{llm.Text{Text: "bro"}}, Partial: true}
	})
}

// sound complains about messages that providers refuse.
func sound(messages []llm.Message) string {
	for i, m := range messages {
		if len(m.Content) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		var open []string
		for _, c := range m.Content.Calls() {
			open = append(open, c.ID)
		}
		var answered []string
		if i+1 < len(messages) && messages[i+1].Role == llm.ToolRole {
			for _, b := range messages[i+1].Content {
				answered = append(answered, b.(llm.ToolResult).ID)
			}
		}
		if !slices.Equal(open, answered) {
			return fmt.Sprintf("message %d calls %q, answered are %q", i, open, answered)
		}
	}
	return ""
}

func TestState_ReplayEqualsLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(event()).Draw(t, "events")
		var live turn.State
		for i, e := range events {
			live = live.Apply(turn.Retry{}).Apply(e).Apply(turn.TextDelta{Text: "x"})
			if ask, ok := live.Next().(turn.Ask); ok {
				if wrong := sound(ask.Messages); wrong != "" {
					t.Fatalf("messages to send: %s", wrong)
				}
			}
			replayed := turn.Replay(events[:i+1]...)
			if diff := cmp.Diff(replayed, live, cmp.AllowUnexported(turn.State{})); diff != "" {
				t.Fatalf("after %d events: %s", i+1, diff)
			}
		}
	})
}

func TestState_CloneIsIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		common := turn.Replay(rapid.SliceOf(event()).Draw(t, "common")...)
		before, _ := json.Marshal(common.Messages())
		for range 2 {
			s := common.Clone()
			for _, e := range rapid.SliceOf(event()).Draw(t, "future") {
				s = s.Apply(e)
			}
		}
		if after, _ := json.Marshal(common.Messages()); string(after) != string(before) {
			t.Fatalf("%s became %s", before, after)
		}
	})
}

func TestCompaction_LeavesSoundConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := turn.Replay(rapid.SliceOf(event()).Draw(t, "events")...)
		if _, ask := s.Next().(turn.Ask); !ask {
			return
		}
		before := weight(s)
		outputs, messages := s.Compaction()
		after := s.Clone().Apply(turn.Compacted{Outputs: outputs, Messages: len(messages), Summary: "short"})
		if wrong := sound(after.Messages()); wrong != "" {
			t.Fatalf("messages after compaction: %s", wrong)
		}
		if _, ask := after.Next().(turn.Ask); !ask || !after.Compacted() {
			t.Fatalf("it needs %s", need(after))
		}
		if len(outputs)+len(messages) > 0 && before > 2000 && weight(after) >= before {
			t.Fatalf("%d bytes became %d", before, weight(after))
		}
	})
}

// weight returns how long a state's messages are.
func weight(s turn.State) int {
	text, err := json.Marshal(s.Messages())
	if err != nil {
		panic(err)
	}
	return len(text)
}

func TestCompaction_RemovesOldestOutputsFirst(t *testing.T) {
	big := strings.Repeat("x", 10_000)
	s := turn.Replay(turn.Start{}, turn.UserMessage{Text: "go"},
		calls("1"), result("1", big), calls("2"), result("2", big), calls("3"), result("3", big), calls("4"), result("4", big[:8000]))
	outputs, messages := s.Compaction()
	if diff := cmp.Diff([]string{"1", "2"}, outputs); diff != "" || len(messages) != 0 {
		t.Errorf("outputs (-want +got):\n%s%d messages, want none", diff, len(messages))
	}
}

func TestCompaction_SummaryReplacesOldestMessages(t *testing.T) {
	long := strings.Repeat("word ", 2000)
	events := []turn.Event{turn.Start{}}
	for range 4 {
		events = append(events, turn.UserMessage{Text: long}, says(long))
	}
	s := turn.Replay(append(events, turn.UserMessage{Text: "and now?"})...)
	outputs, messages := s.Compaction()
	if len(messages) != 7 || len(outputs) != 0 {
		t.Fatalf("compaction leaves out %d messages and %d outputs, want 7 and none", len(messages), len(outputs))
	}
	s = s.Apply(turn.Compacted{Messages: len(messages), Summary: "they talked"})
	if got := s.Messages(); len(got) != 3 || !strings.HasSuffix(got[0].Text(), "they talked") || got[2].Text() != "and now?" {
		t.Errorf("left are %d: %.300v", len(got), got)
	}
}

func TestCompaction_BoundsAreExact(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name    string
		events  []turn.Event
		outputs []string
	}{
		{"the first output is as much as has to go", []turn.Event{
			calls("1"), result("1", text(1000)), calls("2"), result("2", text(500)), turn.UserMessage{Text: text(486)},
		}, []string{"1"}},
		{"an output is too small", []turn.Event{calls("1"), result("1", text(256)), turn.UserMessage{Text: text(2000)}}, nil},
		{"the last output is too much by itself", []turn.Event{calls("1"), result("1", text(10_000))}, []string{"1"}},
	} {
		s := turn.Replay(append(turn.Begin("", "go"), tt.events...)...)
		if outputs, _ := s.Compaction(); !slices.Equal(outputs, tt.outputs) {
			t.Errorf("%s: compaction leaves out the outputs %q, want %q", tt.name, outputs, tt.outputs)
		}
	}
}

func TestCompaction_KeepsAtLeastTheLastMessage(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name                string
		first, answer, last int // bytes of the messages
		gone                int
	}{
		{"the last message is too much by itself", 2, 2000, 5000, 2},
		{"the last two are as much as may stay", 600, 100, 100, 1},
	} {
		s := turn.Replay(append(turn.Begin("", text(tt.first)), says(text(tt.answer)), turn.UserMessage{Text: text(tt.last)})...)
		if _, messages := s.Compaction(); len(messages) != tt.gone {
			t.Errorf("%s: compaction replaces %d messages, want %d", tt.name, len(messages), tt.gone)
		}
	}
}

func TestState_CountsWhatTheTurnHasTaken(t *testing.T) {
	cost := turn.Usage{Usage: llm.Usage{Input: 1, Output: 2}}
	s := turn.Replay(turn.Start{}, turn.UserMessage{Text: "go"}, calls("a"), cost, result("a", "1"), turn.Switched{}, says("done"), cost)
	if s.Steps() != 2 || s.Switches() != 1 || s.Spent() != (llm.Usage{Input: 2, Output: 4}) {
		t.Errorf("%d steps, %d switches, spent %+v; want 2, 1, and 2 and 4 tokens", s.Steps(), s.Switches(), s.Spent())
	}
	s = s.Apply(turn.Start{})
	if s.Steps() != 0 || s.Switches() != 0 || s.Spent() != (llm.Usage{}) {
		t.Errorf("the next turn begins with %d steps, %d switches, %+v; want none", s.Steps(), s.Switches(), s.Spent())
	}
}

func TestState_EmptyAnswerIsNoMessage(t *testing.T) {
	s := turn.Replay(turn.Start{}, turn.UserMessage{Text: "go"}, turn.AssistantMessage{})
	if got := s.Messages(); len(got) != 1 {
		t.Errorf("after an answer without content there are %d messages, want 1", len(got))
	}
}

func TestCompaction_NothingToRemove(t *testing.T) {
	s := turn.Replay(turn.Begin("", strings.Repeat("word ", 2000))...)
	if outputs, messages := s.Compaction(); len(outputs)+len(messages) > 0 {
		t.Errorf("compaction leaves out outputs %q and %d messages, want nothing", outputs, len(messages))
	}
}

func BenchmarkApply(b *testing.B) {
	b.ReportAllocs()
	s := turn.Replay(turn.Begin("", "hello")...)
	var e turn.Event = turn.TextDelta{Text: "word"}
	for b.Loop() {
		s = s.Apply(e)
	}
}

func Example() {
	s := turn.Replay(turn.Begin("t1", "What is the time?")...)
	for _, e := range []turn.Event{
		turn.AssistantMessage{Content: llm.Content{llm.ToolCall{ID: "1", Name: "clock"}}, Reason: llm.Calls},
		turn.ToolCall{ToolCall: llm.ToolCall{ID: "1", Name: "clock"}},
		turn.ToolResult{ToolResult: llm.ToolResult{ID: "1", Name: "clock", Output: "noon"}},
		turn.AssistantMessage{Content: llm.Content{llm.Text{Text: "It is noon."}}, Reason: llm.Stop},
		turn.Sealed{Status: turn.Done},
	} {
		fmt.Printf("%T, then %s\n", s.Next(), turn.Type(e))
		s = s.Apply(e)
	}
	fmt.Printf("%T\n", s.Next())
	// Output:
	// turn.Ask, then assistant-message
	// turn.Use, then tool-call
	// turn.Use, then tool-result
	// turn.Ask, then assistant-message
	// turn.Seal, then turn-sealed
	// <nil>
}

// A prompt has grown too long for the model: the oldest output goes first.
func ExampleState_Compaction() {
	s := turn.Replay(append(turn.Begin("t1", "Which of the logs has the error?"),
		calls("1"), result("1", strings.Repeat("a", 5000)),
		calls("2"), result("2", strings.Repeat("b", 3000)))...)
	outputs, messages := s.Compaction()
	fmt.Println(outputs, len(messages))
	s = s.Apply(turn.Compacted{Outputs: outputs})
	fmt.Println(s.Messages()[2].Content[0].(llm.ToolResult).Output)
	// Output:
	// [1] 0
	// [5000 bytes were left out here to make room; run the tool again if you need them]
}

func TestState_NextChangesNothing(t *testing.T) {
	for n := range 9 { // one of them leaves room behind the history
		s := turn.State{}
		for range n {
			s = s.Apply(turn.UserMessage{Text: "more"})
		}
		s = s.Apply(turn.Start{}).Apply(turn.AssistantMessage{Content: llm.Content{llm.Text{Text: "some"}}, Partial: true})
		said := s.Apply(turn.UserMessage{Text: "and now?"})
		s.Next()
		if all := said.Messages(); all[len(all)-1].Text() != "and now?" {
			t.Errorf("after %d messages: %q", n, all[len(all)-1].Text())
		}
	}
}

func TestState_Approval(t *testing.T) {
	ask := func(id string) turn.Event {
		return turn.ApprovalRequested{ToolCall: llm.ToolCall{ID: id, Name: "look"}}
	}
	open := []turn.Event{turn.Start{}, turn.UserMessage{Text: "hello"}, calls("1", "2"), ask("1")}
	s := turn.Replay(open...)
	if a := s.Approval(); a == nil || a.ID != "1" {
		t.Fatalf("open request: got %v, want that of call 1", a)
	}
	for name, e := range map[string]turn.Event{
		"an answer": turn.ApprovalAnswered{ID: "1", Decision: turn.Deny}, "a result": result("1", "x"), "the end": turn.Sealed{},
	} {
		if a := s.Clone().Apply(e).Approval(); a != nil {
			t.Errorf("open request after %s: got %v, want none", name, a)
		}
	}
	if s.Apply(turn.ApprovalAnswered{ID: "3", Decision: turn.AllowAlways}).AlwaysAllowed("look") {
		t.Error("an answer to a call that was not asked about allows the tool")
	}
	later := s.Clone().Apply(turn.ApprovalAnswered{ID: "1", Decision: turn.AllowAlways}).Apply(turn.Sealed{}).Apply(turn.Start{})
	if !later.AlwaysAllowed("look") || later.AlwaysAllowed("other") || s.AlwaysAllowed("look") {
		t.Error("a tool that is allowed always: want it allowed in later turns, no other, and not in the state before")
	}
}
