package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// An upstream that cuts an answer, and the one that it is asked for again too, is left for its fallback, whatever that
// is for.
func TestComplete_FallbackIsAskedForWhatIsCutTwice(t *testing.T) {
	const (
		thinks = `data: {"id":"1","choices":[{"index":0,"delta":{"reasoning_content":"Let me see."},"finish_reason":null}]}` + "\n\n"
		says   = `data: {"id":"2","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	)
	for _, tt := range []struct {
		name  string
		chain []gateway.Fallback
		asked string
		whole bool
	}{
		{"none", nil, "large large large", false},
		{"after hours", []gateway.Fallback{{To: "one", Model: "small", After: 3 * time.Hour}}, "large large small", true},
		{"when the policy gives up", []gateway.Fallback{{To: "one", Model: "small"}}, "large large small", true},
		{"for truncated answers", []gateway.Fallback{{To: "one", Model: "small", Kinds: fault.Set(0).With(fault.Truncated)}}, "large small", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, m := newModels(t, "openai", map[string]roundTrip{"large": streams(thinks), "small": streams(says)}, tt.chain...)
			_, text, err := w.get("/v1/chat/completions", strings.Replace(gpt, "gpt-5", "large", 1))
			if got := strings.Join(m.asked(), " "); got != tt.asked {
				t.Errorf("%s: asked %s, want %s", tt.name, got, tt.asked)
			}
			if strings.Contains(text, `"content":"Hi"`) != tt.whole || strings.Contains(text, `"error"`) == tt.whole {
				t.Errorf("%s: got %q, %v; want a whole answer: %v", tt.name, text, err, tt.whole)
			}
		})
	}
}

// A terminator behind an answer that says that it has not finished ends it no more with us than a cut connection: the
// answer is asked for again where it can be, and ends with an error else. A client without us takes it for whole.
func TestComplete_TerminatorWithoutAReasonIsACut(t *testing.T) {
	const (
		role = `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
		word = `data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n"
		bare = `data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"}}]}` + "\n\n"
		stop = `data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		call = `data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]},"finish_reason":null}]}` + "\n\n"
		use  = `data: {"id":"1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}` + "\n\n"
		done = "data: [DONE]\n\n"
	)
	whole := role + word + stop + use + done
	for _, tt := range []struct {
		name, first string
		asked       int
		want        string // "": its beginning, and an error
	}{
		{"nothing but a role", role + done, 2, whole},
		{"a call", role + call + done, 2, whole},
		{"a text", role + word + word + done, 1, ""},
		{"a text and its usage, counted by a relay", role + word + use + done, 1, ""},
		{"a text, and no blank line", role + word + "data: [DONE]", 1, ""},
		{"a server that names no reasons", bare + bare + done, 1, bare + bare + done},
		{"a reason", whole, 1, whole},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			w := newHarnessOf(t, policy.Interactive(), roundTrip(func(req *http.Request) (*http.Response, error) {
				if asked++; asked == 1 {
					return streams(tt.first)(req)
				}
				return streams(whole)(req)
			}))
			_, text, err := w.get("/v1/chat/completions", gpt)
			lines := strings.Split(text, "\n\n")
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, ":") })
			text = strings.Join(lines, "\n\n")
			failed := !strings.Contains(text, "[DONE]") && (strings.Contains(text, `"error"`) || err != nil)
			if asked != tt.asked || tt.want != "" && text != tt.want || failed != (tt.want == "") {
				t.Errorf("%s: asked %d times, got %q, %v; want %d and %q", tt.name, asked, text, err, tt.asked, tt.want)
			}
		})
	}
}
