package wire_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

var (
	noon = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)
	call = wire.Call{ConversationID: "c-7", TurnID: "17", Provider: "anthropic", Model: "claude", Upstream: "work"}
	busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: `{"type":"overloaded_error"}`}
)

// bodies has one of each type, with every member set.
func bodies() []wire.Body {
	return []wire.Body{
		wire.NewRetry(call, busy, policy.Run{Tries: 3}, policy.Verdict{Wait: 5 * time.Second, Hinted: true}, 10, noon),
		wire.ProviderWaiting{Call: call, Attempt: 2, RemainingMs: 1500},
		wire.ProviderRecovered{Call: call, Retries: 3, WaitedMs: 22_000},
		wire.ProviderSwitched{Call: call, From: "work", To: "spare", Why: "HTTP 529: busy"},
		wire.NewError(call, busy, 10, time.Hour),
		wire.Reset{Reason: "gap"},
		wire.InputQueued{Call: call, Text: "and then?"},
		wire.InputRemoved{Call: call, Steers: true},
		wire.Exit{Status: "failed", ExitCode: 78, Message: "no key", Saved: "turn.jsonl"},
		wire.ConversationChanged{
			ConversationID: "c-7", Model: "openai/gpt-5", Fallback: []string{"ollama/qwen3"}, Patience: 1500,
			System: "Be kind.", Policy: "patient", Effort: "high", Title: "Files",
		},
		wire.ConnectionLost{Message: "connection refused", Attempt: 2, DelayMs: 4000},
		wire.ConnectionBack{LostMs: 7100},
		wire.CouncilStart{
			Call: call, Members: []string{"a/x", "b/y"}, Judge: "c/z", Quorum: 2, BudgetMs: 270_000, ReserveMs: 30_000,
			GraceMs: 30_001, JudgeBudgetMs: 120_000, CapMs: 420_000,
		},
		wire.CouncilMember{
			Call: call, Member: 1, State: "waiting", Tries: 1, TookMs: 2, RemainingMs: 3, DelayMs: 4, Reason: "hint",
			Kind: "overloaded", Code: "529", Message: "HTTP 529: busy", Answer: "so",
		},
		wire.CouncilQuorum{Call: call, Answered: 2, Asking: 1, Waiting: 3, GraceMs: 30_000},
		wire.CouncilEnd{Call: call, Status: "failed", Answered: 1, Failed: 2, CutOff: 3, TookMs: 4, Message: "too few"},
	}
}

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	for i, b := range bodies() {
		want := wire.Event{Seq: int64(i) + 1, Time: noon, Body: b}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Event
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestMembersAreCamelCaseAndTypesKebabCase(t *testing.T) {
	camel, kebab := regexp.MustCompile(`^[a-z]+([A-Z][a-z]*)*$`), regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	all := bodies()
	for _, e := range happenings() {
		all = append(all, wire.OfTurn(call, e))
	}
	for _, b := range all {
		text, _ := json.Marshal(wire.Event{Seq: 1, Time: noon, Body: b})
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		if !kebab.MatchString(members["type"].(string)) || members["v"] != 1.0 || members["ts"] != "2026-11-02T12:00:00Z" {
			t.Errorf("the envelope of %s", text)
		}
		for name, value := range members {
			if !camel.MatchString(name) {
				t.Errorf("%s in %s", name, text)
			}
			if n, ok := value.(float64); ok && n != math.Trunc(n) {
				t.Errorf("%s is %v, no whole number", name, n)
			}
		}
	}
}

func TestUnknownTypesAndMembersAreIgnored(t *testing.T) {
	for text, want := range map[string]wire.Body{
		`{"v":1,"seq":4,"type":"tea-time","cups":2}`:                                        wire.Unknown{Name: "tea-time"},
		`{"seq":4,"ts":"2026-11-02T12:00:00Z"}`:                                             wire.Unknown{},
		`{"v":1,"seq":4,"type":"reset","reason":"gap","mood":{"deep":[1]}}`:                 wire.Reset{Reason: "gap"},
		`{"v":9,"seq":4,"type":"provider-waiting","remainingMs":7,"attempt":0,"cups":null}`: wire.ProviderWaiting{RemainingMs: 7},
	} {
		var e wire.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Seq != 4 || e.Body != want {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
	}
}

func TestRetryCountsFromZeroAndSaysWhoseWaitItIs(t *testing.T) {
	e := wire.NewRetry(call, busy, policy.Run{Tries: 1}, policy.Verdict{Wait: 1500 * time.Millisecond}, policy.Unlimited, time.Time{})
	if e.Attempt != 0 || e.DelayMs != 1500 || e.Reason != "schedule" || e.MaxRetries != 0 || e.Kind != "overloaded" {
		t.Errorf("%+v", e)
	}
	text, _ := json.Marshal(e)
	for _, absent := range []string{"maxRetries", "deadline"} {
		if strings.Contains(string(text), absent) {
			t.Errorf("%s where there is none: %s", absent, text)
		}
	}
	if e := wire.NewRetry(call, busy, policy.Run{Tries: 2}, policy.Verdict{Hinted: true}, 3, noon); e.Attempt != 1 || e.Reason != "hint" || e.MaxRetries != 3 || !e.Deadline.Equal(noon) {
		t.Errorf("%+v", e)
	}
}

func TestCodeIsTheStatusWhereItSaysSomething(t *testing.T) {
	for _, c := range []struct {
		f    fault.Error
		want string
	}{
		{fault.Error{Kind: fault.RateLimited, Status: 429, Code: "rate_limit_error"}, "429"},
		{fault.Error{Kind: fault.Overloaded, Status: 200, Code: "overloaded_error"}, "overloaded_error"},
		{fault.Error{Kind: fault.Truncated, Status: 200}, ""},
		{fault.Error{Kind: fault.Unavailable}, ""},
	} {
		if e := wire.NewError(call, &c.f, 0, 0); e.Code != c.want {
			t.Errorf("%+v: code %q, want %q", c.f, e.Code, c.want)
		}
	}
}

// happenings has one event of a turn of each type, with every member set.
func happenings() []turn.Event {
	who := llm.Name{Provider: "anthropic", Model: "claude"}
	look := llm.ToolCall{ID: "1", Name: "look", Arguments: json.RawMessage(`{"at":"it"}`), Signature: "s"}
	return []turn.Event{
		turn.Start{ID: "17"},
		turn.UserMessage{Text: "hello", ID: "18"},
		turn.AssistantMessage{
			Name: who, Reason: llm.Calls, Partial: true,
			Content: llm.Content{llm.Reasoning{Text: "hm", Signature: "s"}, llm.Text{Text: "hi"}, look},
		},
		turn.ToolCall{ToolCall: look},
		turn.ToolResult{ToolResult: llm.ToolResult{ID: "1", Name: "look", Output: "no", Failed: true}},
		turn.Usage{Name: who, Usage: llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5}},
		turn.Compacted{Outputs: []string{"1"}, Messages: 2, Summary: "they met"},
		turn.Switched{From: "anthropic/claude", To: "openai/gpt", Why: "HTTP 529: busy"},
		turn.Restarted{},
		turn.Error{Name: who, Message: "HTTP 529: busy", Kind: "overloaded", Code: "529", RequestID: "req_1", Retries: 3, WaitedMs: 22_000, Committed: true},
		turn.Sealed{Status: turn.Failed, Metrics: turn.Metrics{
			RetryCount: 3, TotalRetryDelayMs: 22_000, TimeToFirstTokenMs: 1, DurationMs: 2, InputTokens: 3, OutputTokens: 4,
		}},
		turn.TextDelta{Text: "h"},
		turn.ReasoningDelta{Text: "m"},
		turn.Retry{Name: who, Fault: busy, Attempt: 2, Delay: 5 * time.Second, Hinted: true, Limit: 10, Deadline: noon},
		turn.Waiting{Name: who, Attempt: 2, Remaining: 1500 * time.Millisecond},
		turn.Recovered{Name: who, Retries: 3, Waited: 22 * time.Second},
	}
}

func TestATurnIsReadAsItWasWritten(t *testing.T) {
	for _, want := range happenings() {
		written := wire.Event{Seq: 1, Time: noon, Body: wire.OfTurn(call, want)}
		text, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		var read wire.Event
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(written, read); diff != "" || read.Body.Type() != want.Type() {
			t.Errorf("%s: %s", text, diff)
		}
		if wire.Kept(read.Body) != turn.Kept(want) {
			t.Errorf("%s is kept: %v", want.Type(), turn.Kept(want))
		}
		if id := wire.TurnOf(read.Body); id != call.TurnID {
			t.Errorf("%s is about the turn %q", text, id)
		}
		got, ok := wire.ToTurn(read.Body)
		if !ok {
			t.Errorf("%s tells nothing", want.Type())
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(turn.Error{}, "Fault")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// The members of a retry are the same wherever it happens.
func TestARetryIsTheSameOnEverySurface(t *testing.T) {
	gateway := wire.NewRetry(call, busy, policy.Run{Tries: 3}, policy.Verdict{Wait: 5 * time.Second, Hinted: true}, 10, noon)
	agent := wire.OfTurn(call, turn.Retry{
		Name: llm.Name{Provider: call.Provider, Model: call.Model}, Fault: busy, Attempt: 2, Delay: 5 * time.Second, Hinted: true, Limit: 10, Deadline: noon,
	})
	if diff := cmp.Diff(wire.Body(gateway), agent); diff != "" {
		t.Error(diff)
	}
}

func FuzzEvent(f *testing.F) {
	for _, b := range bodies() {
		text, _ := json.Marshal(wire.Event{Seq: 1, Time: noon, Body: b})
		f.Add(text)
	}
	for _, e := range happenings() {
		text, _ := json.Marshal(wire.Event{Seq: 1, Time: noon, Body: wire.OfTurn(call, e)})
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
			t.Fatalf("%q: %v", text, err)
		}
		var back wire.Event
		if err := json.Unmarshal(again, &back); err != nil || back.Seq != e.Seq || back.Body.Type() != e.Body.Type() {
			t.Errorf("%q became %q: %v", text, again, err)
		}
	})
}
