package npm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// hidden are errors that servers write into answers of status 200 in forms that the SDKs do not read as such. Those of Go
// get the same.
var hidden struct {
	Begins         map[string]string // of a stream, up to some text, by API
	Frames, Wholes []hiddenError     // in a stream, and in place of an answer that is not streamed
}

type hiddenError struct{ Form, Text, Says string }

// hiddenCalls are the calls by their API.
var hiddenCalls = map[string][]string{
	"chat":      {"openai.chat", "ai.openai chat"},
	"responses": {"openai.responses", "ai.openai responses"},
	"messages":  {"anthropic.messages", "ai.anthropic"},
	"gemini":    {"google.generateContent", "ai.google"},
}

func TestGateway_HiddenErrorIsOneToTheSDK(t *testing.T) {
	sdks(t)
	text, err := os.ReadFile("../testdata/hidden.json")
	if err == nil {
		err = json.Unmarshal(text, &hidden)
	}
	if err != nil || len(hidden.Frames) == 0 || len(hidden.Wholes) == 0 {
		t.Fatalf("read %d and %d errors, %v; want some", len(hidden.Frames), len(hidden.Wholes), err)
	}
	for api, calls := range hiddenCalls {
		for _, call := range calls {
			for _, e := range hidden.Frames {
				for at, begin := range map[string]string{"first": "", "after a text": hidden.Begins[api]} {
					for end, last := range map[string]string{"": "", ", and a terminator": "data: [DONE]\n\n"} {
						t.Run(call+" stream/"+e.Form+"/"+at+end, func(t *testing.T) {
							t.Parallel()
							checkHidden(t, call+" stream", api, "text/event-stream", begin, e, last)
						})
					}
				}
			}
			for _, e := range hidden.Wholes {
				t.Run(call+"/"+e.Form, func(t *testing.T) {
					t.Parallel()
					checkHidden(t, call, api, "application/json", "", e, "")
				})
			}
		}
	}
}

// checkHidden has a provider answer all tries of a call with an error, and checks that the call raises it: after all its
// retries, or after the text that was before it.
func checkHidden(t *testing.T, call, api, kind, begin string, e hiddenError, end string) {
	var asked, tries atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		tries.Add(1)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, begin+e.Text+end)
	}))
	t.Cleanup(provider.Close)
	p := policy.Simple()
	p.Backoff = policy.Backoff{Steps: []time.Duration{5 * time.Millisecond}}
	done, _ := sdks(t).call(t, call, inFrontOf(t, provider.URL, p, &asked), false)
	got := within(t, done, "a result")
	text, wantAsked, wantTries := "", int64(1), int64(4)
	switch {
	case begin != "":
		text, wantTries = "Hi", 1
	case strings.HasPrefix(call, "ai.") && strings.HasSuffix(call, " stream") && api != "gemini": // see TestVercelSDK_StopsAtALastError
		wantAsked = 2
	}
	says := e.Says
	if api == "gemini" && begin != "" && strings.HasPrefix(e.Text, "{") {
		says = "" // Google's own way, which is handed on as it is: an SDK that does not read it meets the cut after it
	}
	if got.Error == "" || got.Stop != "" || got.Text != text || !strings.Contains(got.Error, says) {
		t.Errorf("call result %+v, want the text %q and an error that says %q", got, text, says)
	}
	if asked.Load() != wantAsked || tries.Load() != wantTries {
		t.Errorf("the SDK asked %d times, the gateway tried %d times; want %d and %d", asked.Load(), tries.Load(), wantAsked, wantTries)
	}
}
