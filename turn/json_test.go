package turn_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

var (
	who  = llm.Name{Provider: "anthropic", Model: "claude"}
	noon = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)
	busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: `{"type":"overloaded_error"}`}
)

// examples has each event with all its members, and their JSON.
func examples() map[string]turn.Event {
	look := llm.ToolCall{ID: "1", Name: "look", Arguments: json.RawMessage(`{"at":"it"}`), Signature: "s"}
	return map[string]turn.Event{
		`{"id":"17"}`:                     turn.Start{ID: "17"},
		`{"text":"hello","inputId":"18"}`: turn.UserMessage{Text: "hello", ID: "18"},
		`{"text":"hello","images":[{"id":"abc","name":"a.png","mediaType":"image/png","bytes":100,"width":70,"height":50}]}`: turn.UserMessage{Text: "hello", Images: []llm.Image{
			{ID: "abc", Name: "a.png", MediaType: "image/png", Bytes: 100, Width: 70, Height: 50},
		}},
		`{"message":"HTTP 400: no","kind":"invalid","code":"400","retries":0,"waitedMs":0,"imagesRefused":true}`: turn.Error{
			Message: "HTTP 400: no", Kind: "invalid", Code: "400", Fault: &fault.Error{Kind: fault.Invalid, Status: 400, Message: "no", Images: true},
		},
		`{"provider":"anthropic","model":"claude","content":[{"type":"text","text":"hi"}],"reason":"calls","partial":true}`: turn.AssistantMessage{
			Name: who, Reason: llm.Calls, Partial: true, Content: llm.Content{llm.Text{Text: "hi"}},
		},
		`{"id":"1","name":"look","arguments":{"at":"it"},"signature":"s"}`: turn.ToolCall{ToolCall: look},
		`{"id":"1","name":"look","arguments":{},"until":"2026-11-21T18:54:10Z"}`: turn.ApprovalRequested{
			ToolCall: llm.ToolCall{ID: "1", Name: "look", Arguments: json.RawMessage("{}")}, Until: time.Date(2026, 11, 21, 18, 54, 10, 0, time.UTC),
		},
		`{"id":"1","decision":"allow-always"}`:                 turn.ApprovalAnswered{ID: "1", Decision: turn.AllowAlways},
		`{"id":"1","name":"look","output":"no","failed":true}`: turn.ToolResult{ToolResult: llm.ToolResult{ID: "1", Name: "look", Output: "no", Failed: true}},
		`{"provider":"anthropic","model":"claude","input":1,"output":2,"cacheRead":3,"cacheWrite":4,"reasoning":5}`: turn.Usage{
			Name: who, Usage: llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5},
		},
		`{"outputs":["1"],"messages":2,"summary":"they met"}`:                                    turn.Compacted{Outputs: []string{"1"}, Messages: 2, Summary: "they met"},
		`{"from":"anthropic/claude","to":"openai/gpt","why":"HTTP 529: busy"}`:                   turn.Switched{From: "anthropic/claude", To: "openai/gpt", Why: "HTTP 529: busy"},
		`{"provider":"anthropic","model":"claude","upstream":"work","from":"work","to":"spare"}`: turn.Switched{Name: who, Upstream: "work", From: "work", To: "spare"},
		`{}`: turn.Restarted{},
		`{"provider":"anthropic","model":"claude","upstream":"work","message":"HTTP 529: busy","kind":"overloaded","code":"529","requestId":"req_1","retries":3,"waitedMs":22000,"committed":true}`: turn.Error{
			Name: who, Upstream: "work", Message: "HTTP 529: busy", Kind: "overloaded", Code: "529", RequestID: "req_1", Retries: 3, Waited: 22 * time.Second, Stop: policy.Committed,
			Fault: &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy", RequestID: "req_1"},
		},
		`{"message":"HTTP 429: slow","kind":"rate-limited","code":"429","retries":0,"waitedMs":0,"retryAfterMs":900000}`: turn.Error{
			Message: "HTTP 429: slow", Kind: "rate-limited", Code: "429", RetryAfter: 15 * time.Minute, Stop: policy.RetryAfterTooLong,
			Fault: &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow"},
		},
		`{"status":"failed","retryCount":3,"totalRetryDelayMs":22000,"timeToFirstTokenMs":1,"durationMs":2,"inputTokens":3,"outputTokens":4}`: turn.Sealed{Status: turn.Failed, Metrics: turn.Metrics{
			RetryCount: 3, TotalRetryDelay: 22 * time.Second, TimeToFirstToken: time.Millisecond, Duration: 2 * time.Millisecond, InputTokens: 3, OutputTokens: 4,
		}},
		`{"text":"h"}`: turn.TextDelta{Text: "h"},
		`{"text":"m"}`: turn.ReasoningDelta{Text: "m"},
		`{"provider":"anthropic","model":"claude","upstream":"work","attempt":2,"delayMs":5000,"message":"HTTP 529: {\"type\":\"overloaded_error\"}","code":"529","kind":"overloaded","maxRetries":10,"deadline":"2026-11-02T12:00:00Z","reason":"hint"}`: turn.Retry{
			Name: who, Upstream: "work",
			Wait: policy.Wait{Run: policy.Run{Tries: 3}, Fault: busy, Verdict: policy.Verdict{Wait: 5 * time.Second, Hinted: true}, Limit: 10, Deadline: noon},
		},
		`{"provider":"anthropic","model":"claude","attempt":0,"delayMs":5000,"message":"HTTP 529: busy","code":"529","kind":"overloaded","reason":"schedule","cachedUntil":"2026-11-02T12:00:00Z","cacheTokens":48000}`: turn.Retry{
			Name: who, Wait: policy.Wait{
				Run: policy.Run{Tries: 1}, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"},
				Verdict: policy.Verdict{Wait: 5 * time.Second}, Limit: policy.Unlimited,
			},
			Cache: turn.PromptCache{Until: noon, Tokens: 48000},
		},
		`{"provider":"anthropic","model":"claude","attempt":0,"delayMs":5000,"message":"HTTP 429: {\"message\":\"Slow down\"}","summary":"HTTP 429: Slow down","code":"429","kind":"rate-limited","reason":"schedule"}`: turn.Retry{
			Name: who,
			Wait: policy.Wait{Run: policy.Run{Tries: 1}, Limit: policy.Unlimited, Verdict: policy.Verdict{Wait: 5 * time.Second}, Fault: &fault.Error{
				Kind: fault.RateLimited, Status: 429, Message: "Slow down", Body: `{"message":"Slow down"}`,
			}},
		},
		`{"provider":"anthropic","model":"claude","attempt":0,"delayMs":5000,"message":"HTTP 429: Spent","code":"429","kind":"quota","opensAt":"2026-11-02T12:00:00Z","reason":"window"}`: turn.Retry{
			Name: who,
			Wait: policy.Wait{
				Run: policy.Run{Tries: 1}, Limit: policy.Unlimited, Verdict: policy.Verdict{Wait: 5 * time.Second, Hinted: true, Window: true},
				Fault: &fault.Error{Kind: fault.Quota, Status: 429, Message: "Spent", Window: true, ResetAt: noon},
			},
		},
		`{"message":"HTTP 429: Spent","kind":"quota","code":"429","retries":0,"waitedMs":0,"retryAfterMs":900000,"opensAt":"2026-11-02T12:00:00Z"}`: turn.Error{
			Message: "HTTP 429: Spent", Kind: "quota", Code: "429", RetryAfter: 15 * time.Minute, Stop: policy.RetryAfterTooLong,
			Fault: &fault.Error{Kind: fault.Quota, Status: 429, Message: "Spent", Window: true, ResetAt: noon},
		},
		`{"provider":"anthropic","model":"claude","upstream":"work","attempt":2,"remainingMs":1500}`: turn.Waiting{Name: who, Upstream: "work", Retry: 3, Remaining: 1500 * time.Millisecond},
		`{"provider":"anthropic","model":"claude","upstream":"work","retries":3,"waitedMs":22000}`:   turn.Recovered{Name: who, Upstream: "work", Retries: 3, Waited: 22 * time.Second},
	}
}

func TestMarshal_UnmarshalReturnsTheEvent(t *testing.T) {
	for want, e := range examples() {
		text, err := turn.Marshal(e)
		if err != nil || string(text) != want {
			t.Errorf("Marshal(%#v)\n got %s, %v\nwant %s", e, text, err, want)
		}
		got, err := turn.Unmarshal(turn.Type(e), text)
		if diff := cmp.Diff(e, got); err != nil || diff != "" {
			t.Errorf("Unmarshal(%s): error %v, event (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestMarshal_RetryWithoutLimitOrDeadline(t *testing.T) {
	e := turn.Retry{Wait: policy.Wait{Run: policy.Run{Tries: 1}, Fault: busy, Verdict: policy.Verdict{Wait: 1500 * time.Millisecond}, Limit: policy.Unlimited}}
	text, err := turn.Marshal(e)
	want := `{"attempt":0,"delayMs":1500,"message":"HTTP 529: {\"type\":\"overloaded_error\"}","code":"529","kind":"overloaded","reason":"schedule"}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal: got %s, %v, want %s", text, err, want)
	}
	got, err := turn.Unmarshal("provider-retry", text)
	if diff := cmp.Diff(turn.Event(e), got); err != nil || diff != "" {
		t.Errorf("Unmarshal: error %v, event (-want +got):\n%s", err, diff)
	}
}

func TestUnmarshal_UnknownType(t *testing.T) {
	if e, err := turn.Unmarshal("tea-time", []byte(`{}`)); e != nil || err != nil {
		t.Errorf("Unmarshal of an unknown type: got %v, %v, want nil, nil", e, err)
	}
}

func TestUnmarshalWait_ReadsNoOtherEvents(t *testing.T) {
	read := 0
	for text, e := range examples() {
		got, err := turn.UnmarshalWait(turn.Type(e), []byte(text))
		var want turn.Event
		switch e.(type) {
		case turn.Retry, turn.Waiting, turn.Recovered:
			want = e
			read++
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("UnmarshalWait(%s %s): error %v, event (-want +got):\n%s", turn.Type(e), text, err, diff)
		}
	}
	if read < 3 {
		t.Errorf("events of a wait that were read: got %d, want at least 3", read)
	}
}

func TestNewError_CodeIsTheStatusOfARefusal(t *testing.T) {
	for _, c := range []struct {
		fault fault.Error
		code  string
	}{
		{fault.Error{Kind: fault.RateLimited, Status: 429, Code: "rate_limit_error"}, "429"},
		{fault.Error{Kind: fault.Overloaded, Status: 200, Code: "overloaded_error"}, "overloaded_error"},
		{fault.Error{Kind: fault.Truncated, Status: 200}, ""},
		{fault.Error{Kind: fault.Unavailable}, ""},
	} {
		got := turn.NewError(&c.fault, 2, time.Second)
		want := turn.Error{
			Message: c.fault.Redacted(), Kind: c.fault.Kind.String(), Code: c.code, Retries: 2, Waited: time.Second,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(turn.Error{}, "Fault")); diff != "" || got.Fault != &c.fault {
			t.Errorf("NewError(%v) (-want +got):\n%s", &c.fault, diff)
		}
	}
}

func ExampleNewError() {
	e := turn.NewError(&fault.Error{Kind: fault.Overloaded, Status: 529}, 21, 8*time.Hour)
	fmt.Println(e.Message, e.Kind, e.Code, e.Retries, e.Waited)
	// Output: HTTP 529: server overloaded overloaded 529 21 8h0m0s
}

// A call that its caller has left has not failed.
func ExampleError_Left() {
	left := turn.NewError(&fault.Error{Kind: fault.Canceled, Message: "the client has left"}, 0, 0)
	failed := turn.NewError(&fault.Error{Kind: fault.Overloaded, Status: 529}, 0, 0)
	failed.Stop = policy.Exhausted
	fmt.Println(left.Left(), failed.Left())
	// Output: true false
}

// An answer that broke off is not asked for again.
func ExampleError_Committed() {
	e := turn.NewError(&fault.Error{Kind: fault.Truncated}, 0, 0)
	e.Stop = policy.Committed
	text, _ := turn.Marshal(e)
	fmt.Println(e.Committed(), string(text))
	// Output: true {"message":"stream dropped","kind":"truncated","retries":0,"waitedMs":0,"committed":true}
}

func ExampleMarshal() {
	text, _ := turn.Marshal(turn.Recovered{Name: llm.Name{Provider: "openai", Model: "gpt-5"}, Retries: 3, Waited: 22 * time.Second})
	e, _ := turn.Unmarshal("provider-recovered", text)
	fmt.Printf("%s\n%v\n", text, e.(turn.Recovered).Waited)
	// Output:
	// {"provider":"openai","model":"gpt-5","retries":3,"waitedMs":22000}
	// 22s
}

// A log keeps the conversation, not how it went over the wire.
func ExampleKept() {
	for _, e := range []turn.Event{turn.UserMessage{Text: "hi"}, turn.TextDelta{Text: "hel"}, turn.Retry{}, turn.Sealed{}} {
		fmt.Println(turn.Type(e), turn.Kept(e))
	}
	// Output:
	// user-message true
	// text-delta false
	// provider-retry false
	// turn-sealed true
}

// Replaying what a log has kept returns the state, and with it what is next.
func ExampleReplay() {
	s := turn.Replay(turn.Begin("t1", "What is the time?")...)
	ask := s.Next().(turn.Ask)
	fmt.Println(ask.Messages[0].Text())
	// Output: What is the time?
}
