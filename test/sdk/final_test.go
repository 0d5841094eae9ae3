package sdk_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

func TestGateway_FinalFaultIsUnchanged(t *testing.T) {
	for _, c := range calls {
		for _, status := range []string{"400", "401", "403", "404", "413"} {
			t.Run(c.name+"/"+status, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, err := c.ask(t.Context(), newFixture(t, script(t, status)).direct())
					want := reasonOf(err)
					w := newFixture(t, script(t, status))
					_, err = c.ask(t.Context(), w.gateway(policy.Patient()))
					got := reasonOf(err)
					if got.Status != want.Status || got.Body != want.Body || got.Body == "" || status != strconv.Itoa(got.Status) {
						t.Errorf("response %d %s; want %d %s", got.Status, got.Body, want.Status, want.Body)
					}
					w.check(1, 0)
				})
			})
		}
	}
}

func TestGateway_ExhaustionEndsSDKRetries(t *testing.T) {
	tests := []struct {
		call
		status int
		says   string
	}{
		{messagesNew, 529, `"type":"overloaded_error"`},
		{responsesNew, 529, `"code":"server_is_overloaded"`},
		{responsesNewStreaming, 0, `"message":"ridethrough: gave up after 3 retries in 7s: HTTP 529: Our servers are currently overloaded.`},
		{generateArray, 200, `"message":"ridethrough: gave up after 3 retries in 7s: HTTP 529: The model is overloaded.`},
		{studioChat, 529, `"message":"Model is unloaded."`},
		{studioChatStreaming, 200, `"message":"ridethrough: gave up after 3 retries in 7s: HTTP 529: Model is unloaded."`},
		{studioOldStreaming, 0, `"message":"ridethrough: gave up after 3 retries in 7s: HTTP 529: Model is unloaded."`},
		{generateContent, 529, `"UNAVAILABLE": The model is overloaded.`},
		{generateContentStream, 503, `"UNAVAILABLE": ridethrough: gave up after 3 retries in 7s: HTTP 529: The model is overloaded.`},
		{ollamaChat, 529, "server busy, please try again."},
		{ollamaChatStreaming, 0, "ridethrough: gave up after 3 retries in 7s: HTTP 529: server busy, please try again."},
		{ollamaGenerate, 529, "server busy, please try again."},
		{ollamaGenerateStreaming, 0, "ridethrough: gave up after 3 retries in 7s: HTTP 529: server busy, please try again."},
		{messagesNewStreaming, 200, `{"type":"overloaded_error","message":"ridethrough: gave up after 3 retries in 7s: HTTP 529: Overloaded"}`},
		{chatNew, 529, `"code":"server_is_overloaded"`},
		{chatNewStreaming, 0, `"message":"ridethrough: gave up after 3 retries in 7s: HTTP 529: Our servers are currently overloaded.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, outage(0))
				got, err := tt.ask(t.Context(), w.gateway(policy.Simple()))
				r := reasonOf(err)
				if r.Status != tt.status || !strings.Contains(r.Body, tt.says) || got != (answer{}) {
					t.Errorf("answer %+v, response %d %s, error %v", got, r.Status, r.Body, err)
				}
				if tt.again && !tt.streams && r.header.Get("X-Should-Retry") != "false" {
					t.Errorf("response header %v", r.header)
				}
				w.check(4, 7*time.Second)
			})
		})
	}
}

func TestGateway_GivingUpIsAnError(t *testing.T) {
	for _, way := range ways {
		for _, c := range calls {
			for _, reply := range []string{"503", "refused", "reset", "error-first", "role-error", "error-200", "cut:0", "cut:0:clean", "html", "empty"} {
				t.Run(way.name+"/"+c.name+"/"+reply, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newFixture(t, simulator.Script{Then: script(t, reply).Replies[0]})
						got, err := c.ask(t.Context(), way.to(w, policy.Simple()))
						if n := w.asked.Load(); err == nil || got.Text+got.Stop != "" || n != 1 {
							t.Errorf("answer %+v, error %v; the SDK made %d requests", got, err, n)
						}
					})
				})
			}
		}
	}
}
