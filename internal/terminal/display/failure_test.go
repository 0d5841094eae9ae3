package display_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

func TestHeadline_AdvisesTheUser(t *testing.T) {
	failed := func(f fault.Error, provider string, retries int, committed bool) turn.Error {
		e := turn.Error{Name: llm.Name{Provider: provider, Model: "m"}, Fault: &f, Kind: f.Kind.String(), Retries: retries}
		if committed {
			e.Stop = policy.Committed
		}
		return e
	}
	now := time.Date(2026, time.November, 22, 20, 0, 0, 0, time.UTC)
	spent := fault.Error{Kind: fault.Quota, Status: 429, Window: true, ResetAt: now.Add(3*time.Hour + 30*time.Second)}
	for _, tt := range []struct {
		failure turn.Error
		want    string
	}{
		{failed(spent, "anthropic", 0, false), "Failed: usage limit. It opens again at 23:00, in 3h1m."},
		{failed(fault.Error{Kind: fault.RateLimited, Status: 429, Window: true, ResetAt: now.Add(time.Hour)}, "openai", 2, false), "Failed after 2 retry attempts: usage limit. It opens again at 21:00, in 1h."},
		{failed(fault.Error{Kind: fault.Overloaded, Status: 529}, "anthropic", 10, false), "Failed after 10 retry attempts. anthropic was overloaded."},
		{failed(fault.Error{Kind: fault.RateLimited, Status: 429}, "openai", 3, false), "Failed after 3 retry attempts. openai limited the rate."},
		{failed(fault.Error{Kind: fault.Unavailable}, "anthropic", 10, false), "Failed after 10 retry attempts. Check your connection and try again."},
		{failed(fault.Error{Kind: fault.Overloaded, Status: 529}, "anthropic", 1, false), "Failed after 1 retry attempt. anthropic was overloaded."},
		{failed(fault.Error{Kind: fault.Unavailable}, "ollama", 10, false), "Failed after 10 retry attempts. Check that ollama is running and try again."},
		{failed(fault.Error{Kind: fault.Unavailable}, "lmstudio", 1, false), "Failed after 1 retry attempt. Check that lmstudio is running and try again."},
		{
			failed(fault.Error{Kind: fault.Overloaded, Status: 400, Message: "Model loading failed"}, "lmstudio", 10, false),
			"Failed after 10 retry attempts. LM Studio could not load the model: unload another one, or choose a smaller one, and try again.",
		},
		{failed(fault.Error{Kind: fault.Quota, Status: 429}, "openai", 10, false), "Failed after 10 retry attempts: the account at openai has no credit. Add credit or raise its limit, and try again."},
		{failed(fault.Error{Kind: fault.Auth, Status: 401}, "anthropic", 0, false), "Failed: authentication. Check the key for anthropic and try again."},
		{failed(fault.Error{Kind: fault.Truncated}, "anthropic", 2, true), "Failed after 2 retry attempts: the answer broke off (stream dropped). Check your connection and try again."},
		{failed(fault.Error{Kind: fault.Invalid, Status: 400}, "anthropic", 0, false), "Failed: anthropic did not accept the request. Change the message or the model and try again."},
		{failed(fault.Error{Kind: fault.Refused, Status: 403}, "", 0, false), "Failed: the provider refused the request. Your key, your plan, your region or its rules do not allow it."},
		{failed(fault.Error{Kind: fault.TooLong, Status: 413}, "openai", 2, false), "Failed after 2 retry attempts: the request is too large for openai. Shorten it, or use a model that takes more."},
		{failed(fault.Error{Kind: fault.Refused}, "anthropic", 0, true), "Failed: the answer broke off (refused)."},
		{
			failed(fault.Error{Kind: fault.Invalid, Status: 500, Images: true}, "ollama", 0, false),
			"Failed: ollama did not accept the request. The model does not take the images: use one that does, or go on without them.",
		},
		{turn.Error{Kind: "unknown"}, "Failed: unknown failure."},
	} {
		if got := display.Headline(tt.failure, now); got != tt.want {
			t.Errorf("Headline(%+v):\n got %q\nwant %q", tt.failure, got, tt.want)
		}
	}
}

func TestLongerWait_NamesThePolicy(t *testing.T) {
	for _, tt := range []struct {
		asks, waited time.Duration
		want         string
	}{
		{0, 0, ""},
		{40 * time.Second, 0, "the provider asks for 40 s; --policy patient would wait it out"},
		{899*time.Second + time.Millisecond, 0, "the provider asks for 15 min; --policy patient would wait it out"},
		{7 * time.Hour, 2 * time.Hour, "the provider asks for 7 h"},
		{25*time.Hour + time.Minute, 0, "the provider asks for 26 h"},
	} {
		e := turn.Error{Fault: &fault.Error{Kind: fault.RateLimited, Status: 429}, RetryAfter: tt.asks, Waited: tt.waited}
		if got := display.LongerWait(e, ""); got != tt.want {
			t.Errorf("%v after %v: got %q, want %q", tt.asks, tt.waited, got, tt.want)
		}
	}
}

// A failure says what would have waited longer, unless the call was ended by command or nothing helps.
func TestLongerWait_AfterThePolicyHasEnded(t *testing.T) {
	overloaded := &fault.Error{Kind: fault.Overloaded, Status: 529}
	for _, tt := range []struct {
		name    string
		failure turn.Error
		want    string
	}{
		{"ten retries", turn.Error{Fault: overloaded, Retries: 10, Waited: 3 * time.Minute}, "--policy patient waits up to 8 h"},
		{"half of the budget", turn.Error{Fault: overloaded, Retries: 14, Waited: 5 * time.Hour}, "--policy patient waits up to 8 h"},
		{"after its budget", turn.Error{Fault: overloaded, Retries: 21, Waited: 28000 * time.Second}, ""},
		{"not retried", turn.Error{Fault: overloaded}, ""},
		{"given up", turn.Error{Fault: overloaded, Retries: 3, Stop: policy.GivenUp}, ""},
		{"part of it was shown", turn.Error{Fault: overloaded, Retries: 3, Stop: policy.Committed}, ""},
		{"does not pass", turn.Error{Fault: &fault.Error{Kind: fault.Invalid}, Retries: 3}, ""},
		{"ours", turn.Error{Retries: 3}, ""},
	} {
		if got := display.LongerWait(tt.failure, ""); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestDetails_NamesModelWaitAndRequest(t *testing.T) {
	e := turn.Error{Name: llm.Name{Provider: "anthropic", Model: "opus"}, Message: "HTTP 529: Overloaded\nreally", Waited: 22400 * time.Millisecond, RequestID: "req_1"}
	if diff := cmp.Diff([]string{"HTTP 529: Overloaded really", "anthropic/opus · waited 22s · request req_1"}, display.Details(e)); diff != "" {
		t.Errorf("Details (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"no"}, display.Details(turn.Error{Message: "no"})); diff != "" {
		t.Errorf("Details (-want +got):\n%s", diff)
	}
}
