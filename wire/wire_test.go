package wire_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

var (
	noon = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)
	ref  = wire.Ref{ConversationID: "c-7", TurnID: "17"}
	who  = llm.Name{Provider: "anthropic", Model: "claude"}
	busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: `{"type":"overloaded_error"}`}
)

// bodies has one body of each type, and events of turns, with every member set.
func bodies() []wire.Body {
	look := llm.ToolCall{ID: "1", Name: "look", Arguments: json.RawMessage(`{"at":"it"}`), Signature: "s"}
	all := []wire.Body{
		wire.LimitWaiting{
			Ref: wire.Ref{ConversationID: "s", TurnID: "17"}, Provider: "openai", Model: "gpt-5", Upstream: "work",
			Ahead: 3, Limit: "3 ahead, 40k of 450k tokens/min left, about 12 s", Remaining: wire.Millis(12 * time.Second),
		},
		wire.LimitWaited{Ref: wire.Ref{ConversationID: "s", TurnID: "17"}, Provider: "openai", Model: "gpt-5", Upstream: "work", Waited: wire.Millis(11 * time.Second)},
		wire.Reset{Reason: "gap"},
		wire.InputQueued{Ref: ref, Text: "and then?"},
		wire.InputRemoved{Ref: ref},
		wire.Exit{Status: "failed", ExitCode: 78, Message: "no key", Saved: "turn.jsonl"},
		wire.ConversationChanged{
			ConversationID: "c-7",
			Settings: wire.Settings{
				Model: "openai/gpt-5", Fallback: []string{"ollama/qwen3"}, Patience: wire.Millis(1500 * time.Millisecond),
				System: "Be kind.", Policy: "patient", Effort: "high", Title: "Files",
			},
		},
		wire.RecordLost{ConversationID: "c-7", First: 12, Last: 17},
		wire.ConnectionLost{Message: "connection refused", Retry: 3, Delay: ms(4000)},
		wire.ConnectionBack{Lost: ms(7100)},
		wire.CouncilStart{
			Ref: ref, Members: []string{"a/x", "b/y"}, Judge: "c/z", Quorum: 2, Budget: ms(270_000), Reserve: ms(30_000),
			Grace: ms(30_001), JudgeBudget: ms(120_000), Cap: ms(420_000),
		},
		wire.CouncilMember{
			Ref: ref, Name: who, Member: 1, State: "waiting", Tries: 1, Took: ms(2), Remaining: ms(3), Delay: ms(4), Reason: "hint",
			Kind: "overloaded", Code: "529", Message: "HTTP 529: busy", Answer: "so",
		},
		wire.CouncilQuorum{Ref: ref, Answered: 2, Asking: 1, Waiting: 3, Grace: ms(30_000)},
		wire.CouncilEnd{Ref: ref, Status: "failed", Answered: 1, Failed: 2, CutOff: 3, Took: ms(4), Message: "too few"},
	}
	for _, e := range []turn.Event{
		turn.Start{ID: "17"},
		turn.UserMessage{Text: "hello", ID: "18"},
		turn.AssistantMessage{
			Name: who, Reason: llm.Calls, Partial: true,
			Content: llm.Content{llm.Reasoning{Text: "hm", Signature: "s"}, llm.Text{Text: "hi"}, look},
		},
		turn.ApprovalRequested{ToolCall: look, Until: noon},
		turn.ApprovalAnswered{ID: "1", Decision: turn.AllowOnce},
		turn.ToolCall{ToolCall: look},
		turn.ToolResult{ToolResult: llm.ToolResult{ID: "1", Name: "look", Output: "no", Failed: true}},
		turn.Usage{Name: who, Usage: llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5}},
		turn.Compacted{Outputs: []string{"1"}, Messages: 2, Summary: "they met"},
		turn.Switched{Name: who, Upstream: "work", From: "work", To: "spare", Why: "HTTP 529: busy"},
		turn.Restarted{},
		turn.NewError(busy, 3, 22*time.Second),
		turn.Sealed{Status: turn.Failed, Metrics: turn.Metrics{RetryCount: 3, TotalRetryDelay: 22 * time.Second, Duration: time.Minute}},
		turn.MCPRetry{Server: "github", Call: "1", Wait: policy.Wait{
			Run: policy.Run{Tries: 3}, Fault: busy, Verdict: policy.Verdict{Wait: 5 * time.Second, Hinted: true}, Limit: 10, Deadline: noon,
		}},
		turn.MCPRecovered{Server: "github", Call: "1", Retries: 3, Waited: time.Second},
		turn.TextDelta{Text: "h"},
		turn.ReasoningDelta{Text: "m"},
		turn.Retry{Name: who, Upstream: "work", Cache: turn.PromptCache{Until: noon, Tokens: 48000}, Wait: policy.Wait{
			Run: policy.Run{Tries: 3}, Fault: busy, Verdict: policy.Verdict{Wait: 5 * time.Second, Hinted: true}, Limit: 10, Deadline: noon,
		}},
		turn.Waiting{Name: who, Upstream: "work", Retry: 3, Remaining: 1500 * time.Millisecond},
		turn.Recovered{Name: who, Upstream: "work", Retries: 3, Waited: 22 * time.Second},
	} {
		all = append(all, wire.Turn{Ref: ref, Event: e})
	}
	return all
}

func TestEvent_MarshalRoundTrip(t *testing.T) {
	for i, b := range bodies() {
		want := wire.Event{Seq: int64(i) + 1, Time: noon, Body: b}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("marshal %s: %v", wire.Type(b), err)
		}
		var got wire.Event
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("unmarshal %s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unmarshal %s (-want +got):\n%s", text, diff)
		}
		if e, ok := b.(wire.Turn); ok && (wire.Kept(b) != turn.Kept(e.Event) || wire.TurnOf(b) != ref.TurnID) {
			t.Errorf("%s: Kept %v, TurnOf %q; want %v, %q", text, wire.Kept(b), wire.TurnOf(b), turn.Kept(e.Event), ref.TurnID)
		}
	}
}

func TestEvent_MembersAreCamelCaseAndTypesKebabCase(t *testing.T) {
	camel, kebab := regexp.MustCompile(`^[a-z]+([A-Z][a-z]*)*$`), regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, b := range bodies() {
		text, _ := json.Marshal(wire.Event{Seq: 1, Time: noon, Body: b})
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatalf("unmarshal %s: %v", text, err)
		}
		if !kebab.MatchString(members["type"].(string)) || members["v"] != 1.0 || members["ts"] != "2026-11-02T12:00:00Z" {
			t.Errorf("envelope of %s: want a type in kebab-case, v 1 and ts 2026-11-02T12:00:00Z", text)
		}
		for name, value := range members {
			if !camel.MatchString(name) {
				t.Errorf("member %q of %s is not in camelCase", name, text)
			}
			if n, ok := value.(float64); ok && n != math.Trunc(n) {
				t.Errorf("member %q of %s is %v, want a whole number", name, text, n)
			}
		}
	}
}

func TestEvent_UnknownTypesAndMembersAreIgnored(t *testing.T) {
	for text, want := range map[string]wire.Body{
		`{"v":1,"seq":4,"type":"tea-time","cups":2}`:                                        wire.Unknown{Name: "tea-time"},
		`{"seq":4,"ts":"2026-11-02T12:00:00Z"}`:                                             wire.Unknown{},
		`{"v":1,"seq":4,"type":"reset","reason":"gap","mood":{"deep":[1]}}`:                 wire.Reset{Reason: "gap"},
		`{"v":9,"seq":4,"type":"provider-waiting","remainingMs":7,"attempt":0,"cups":null}`: wire.Turn{Event: turn.Waiting{Retry: 1, Remaining: 7 * time.Millisecond}},
	} {
		var e wire.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Seq != 4 || e.Body != want {
			t.Errorf("unmarshal %s: got %+v, %v, want seq 4 and body %+v", text, e, err, want)
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, b := range bodies() {
		text, _ := json.Marshal(wire.Event{Seq: 1, Time: noon, Body: b})
		f.Add(text)
	}
	f.Add([]byte(`{"v":1,"seq":4,"type":"tea-time","cups":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e wire.Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		if y := e.Time.UTC().Year(); y < 0 || y > 9999 {
			return // no JSON for it
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("marshal what was read from %q: %v", text, err)
		}
		var back wire.Event
		if err := json.Unmarshal(again, &back); err != nil || back.Seq != e.Seq || wire.Type(back.Body) != wire.Type(e.Body) {
			t.Errorf("%q read and written is %q, error %v", text, again, err)
		}
	})
}

// ms is a duration of n milliseconds.
func ms(n int64) wire.Millis { return wire.Millis(time.Duration(n) * time.Millisecond) }

func TestNumbers_InJSON(t *testing.T) {
	text, err := json.Marshal(wire.ConnectionLost{Retry: 1, Delay: ms(1500)})
	if want := `{"message":"","attempt":0,"delayMs":1500}`; err != nil || string(text) != want {
		t.Errorf("Marshal of the first retry: got %s, %v, want %s", text, err, want)
	}
	for _, text := range []string{`9223372036855`, `-9223372036855`, `1.5`, `"1"`, `99999999999999999999`} {
		var m wire.Millis
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("Unmarshal of %s into Millis: got %v, want an error", text, time.Duration(m))
		}
		var n wire.Ordinal
		if err := json.Unmarshal([]byte(text), &n); err == nil && strings.ContainsAny(text, `."`) {
			t.Errorf("Unmarshal of %s into Ordinal: got %d, want an error", text, n)
		}
	}
}
