package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// TestEvent_PrintsWhatItSays is about events that embed a model's name, whose String they would have.
func TestEvent_PrintsWhatItSays(t *testing.T) {
	name := llm.Name{Provider: "acme", Model: "large"}
	for _, c := range []struct {
		event turn.Event
		want  string
	}{
		{turn.Start{ID: "t1"}, `turn-start {"id":"t1"}`},
		{turn.Restarted{}, "turn-restarted"},
		{turn.TextDelta{Text: "Hi"}, `text-delta {"text":"Hi"}`},
		{turn.ToolCall{ToolCall: llm.ToolCall{ID: "c", Name: "read"}}, `"name":"read"`},
		{turn.Usage{Name: name, Usage: llm.Usage{Input: 3, Output: 1}}, `"input":3`},
		{turn.AssistantMessage{Name: name, Content: llm.Content{llm.Text{Text: "Hi"}}}, `"Hi"`},
		{turn.Switched{Name: name, From: "a", To: "b"}, `"from":"a","to":"b"`},
		{turn.Error{Name: name, Message: "HTTP 529: Overloaded"}, "HTTP 529: Overloaded"},
		{turn.Waiting{Name: name, Remaining: time.Second}, `"remainingMs":1000`},
		{turn.Recovered{Name: name, Retries: 2}, `"retries":2`},
		{turn.Sealed{Status: turn.Done}, `"status":"done"`},
	} {
		got := fmt.Sprint(c.event)
		if !strings.HasPrefix(got, turn.Type(c.event)) || !strings.Contains(got, c.want) {
			t.Errorf("Sprint of a %s: got %s, want %s in it", turn.Type(c.event), got, c.want)
		}
	}
}
