package sdk_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// What the SDKs of single vendors do, for which there is a form or a rule of
// ours.

// A line that says so is what it needs; see TestTransport_BrokenStreamIsAnError.
func TestOllamaSDK_BrokenConnectionIsAnEnd(t *testing.T) {
	for _, c := range []call{ollamaChatStreaming, ollamaGenerateStreaming} {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFixture(t, script(t, cut))
					got, err := c.ask(t.Context(), w.direct())
					if err != nil || got.Text != "The provider is " || got.Stop != "" {
						t.Errorf("answer %+v, error %v; want an answer without done and no error", got, err)
					}
				})
			})
		}
	}
}

func TestOllamaSDK_EmptyBodyIsAnAnswer(t *testing.T) {
	for _, c := range []call{ollamaChat, ollamaChatStreaming} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(t, simulator.Script{})
			nothing := roundTripper(func(req *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusBadGateway, Body: http.NoBody, Request: req}, nil
			})
			got, err := c.ask(t.Context(), endpoint{url: "http://provider.test", client: w.countingClient(nothing)})
			if err != nil || got != (answer{}) {
				t.Errorf("answer %+v, error %v", got, err)
			}
		})
	}
}

func TestGoogleSDK_WaitIsInTheBody(t *testing.T) {
	const body = `{"error":{"code":429,"message":"Please retry in 7s.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`
	for _, way := range ways {
		for _, c := range []call{generateContent, generateContentStream} {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					want := healthy(t.Context(), t, c)
					w := newFixture(t, simulator.Script{Replies: []simulator.Reply{simulator.Status{Code: 429, Body: body}}})
					got, err := c.ask(t.Context(), way.to(w, policy.Patient()))
					if err != nil || got.anonymous() != want {
						t.Errorf("answer %+v, error %v", got, err)
					}
					w.check(2, 7*time.Second)
				})
			})
		}
	}
}

func TestGoogleSDK_ErrorWithStatus200IsAnAnswer(t *testing.T) {
	for _, reply := range []string{"error-200", "empty"} {
		synctest.Test(t, func(t *testing.T) {
			got, err := generateContent.ask(t.Context(), newFixture(t, script(t, reply)).direct())
			if err != nil || got.Text+got.Stop != "" {
				t.Errorf("%s: answer %+v, error %v", reply, got, err)
			}
		})
	}
}

func TestGoogleSDK_MixedLineEndsHideAnError(t *testing.T) {
	const chunk = `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}`
	const failure = `data: {"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}`
	for _, row := range []struct {
		body   string
		status int
	}{
		{chunk + "\r\n\r\n" + failure + "\r\n\r\n", 503},
		{chunk + "\n\n" + failure + "\r\n\r\n", 503},
		{chunk + "\r\n\r\n" + failure + "\n\n", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(t, simulator.Script{Then: simulator.Status{Code: 200, Body: row.body}})
			_, err := generateContentStream.ask(t.Context(), w.direct())
			if r := reasonOf(err); err == nil || r.Status != row.status {
				t.Errorf("body %q: error %v", row.body, err)
			}
		})
	}
}

func TestOpenAISDK_FailedResponseIsAPlainEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := responsesNewStreaming.ask(t.Context(), newFixture(t, script(t, "role-error")).direct())
		if err == nil || reasonOf(err).Body == "" || !strings.HasPrefix(err.Error(), "server_is_overloaded: ") {
			t.Errorf("error %v, want none: only response.failed shows it", err)
		}
	})
}
