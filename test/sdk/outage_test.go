package sdk_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

const (
	claudeCode = "claude-cli/2.1.329 (external, cli)"
	codex      = "codex_cli_rs/0.120.0 (Linux)"
)

// afterTwoHours is when Patient's tenth retry comes, the first after an outage
// of two hours.
const afterTwoHours = 7305 * time.Second

func TestSDK_StreamOutlastsTwoHours(t *testing.T) {
	tests := []struct {
		call
		agent string
		id    string // of the answer: the eleventh request's
		held  string // a frame of the hold
		times int    // how often it came, at least
	}{
		{messagesNewStreaming, "", "msg_000011", "event: ping\ndata: {\"type\":\"ping\"}\n\n", 700},
		{messagesNewStreaming, claudeCode, "msg_000011", "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n", 120},
		{chatNewStreaming, "", "chatcmpl-000011", `"delta":{"content":""},"finish_reason":null}]}` + "\n\n", 120},
		{responsesNewStreaming, "", "resp_000011", ": ridethrough retry ", 700},
		{responsesNewStreaming, codex, "resp_000011", "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n", 120},
		{studioChatStreaming, "", "resp_000011", ": ridethrough retry ", 700},
		{studioOldStreaming, "", "chatcmpl-000011", `"delta":{"content":""},"finish_reason":null}]}` + "\n\n", 120},
		{generateArray, "", "resp_000011", " ", 700},
		{generateContentStream, "", "resp_000011", "\n\n", 700},
		{ollamaChatStreaming, "", "2000-01-01T02:01:45Z", " ", 700},
		{ollamaGenerateStreaming, "", "2000-01-01T02:01:45Z", " ", 700},
	}
	for _, tt := range tests {
		t.Run(tt.name+"/"+tt.agent, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := healthy(t.Context(), t, tt.call)
				w := newFixture(t, outage(2*time.Hour))
				s := w.gateway(policy.Patient())
				s.agent = tt.agent
				got, err := tt.ask(t.Context(), s)
				if err != nil || got.anonymous() != want || got.ID != tt.id {
					t.Errorf("answer %+v, error %v; want %+v", got, err, want)
				}
				if n := strings.Count(w.raw.String(), tt.held); n < tt.times {
					t.Errorf("%d keepalives %q", n, tt.held)
				}
				w.check(11, afterTwoHours)
			})
		})
	}
}

func TestGateway_AnswerKeepsItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunk = `data: {"id":"chatcmpl-real","object":"chat.completion.chunk","created":1754524800,"model":"gpt-5-2025-08-07",`
		w := newFixture(t, simulator.Script{
			Outages: outage(2 * time.Hour).Outages,
			Then: simulator.Status{
				Code:   http.StatusOK,
				Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: chunk + `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
					chunk + `"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n" +
					chunk + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
					chunk + `"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}` + "\n\ndata: [DONE]\n\n",
			},
		})
		got, err := chatNewStreaming.ask(t.Context(), w.gateway(policy.Patient()))
		want := answer{ID: "chatcmpl-real", Model: "gpt-5-2025-08-07", Text: "Hi", Stop: "stop", Created: 1754524800, In: 7, Out: 1}
		if err != nil || got != want {
			t.Errorf("answer %+v, error %v", got, err)
		}
	})
}

func TestSDK_NoTryAfterCallerLeft(t *testing.T) {
	for _, way := range ways {
		for _, c := range calls {
			for _, leaves := range []time.Duration{3 * time.Second, 90 * time.Second} { // before and after the headers of a stream
				t.Run(way.name+"/"+c.name+"/"+leaves.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newFixture(t, outage(0))
						ctx, cancel := context.WithCancel(t.Context())
						time.AfterFunc(leaves, cancel)
						got, err := c.ask(ctx, way.to(w, policy.Patient()))
						if !c.isCanceled(err) || got.Text+got.Stop != "" || w.took() != leaves {
							t.Errorf("answer %+v, error %v after %v", got, err, w.took())
						}
						tries := w.tries()
						time.Sleep(9 * time.Hour)
						if n := w.tries(); n != tries || w.asked.Load() != 1 {
							t.Errorf("%d tries, %d before the caller left; the SDK made %d requests", n, tries, w.asked.Load())
						}
					})
				})
			}
		}
	}
}

// isCanceled reports whether a call ended as one that was cancelled. Ollama's
// client, once it has the headers, ends well, or with the spaces that kept it
// waiting as its error.
func (c call) isCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || c.swallows && (err == nil || strings.TrimSpace(err.Error()) == "")
}

func TestSDK_LeavingEndsTheAnswer(t *testing.T) {
	for _, way := range ways {
		for _, c := range streams {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ended := time.Duration(0)
					w := newFixture(t, script(t, "drip:50s"))
					w.base = onBodyClose(w.base, func() { ended = w.took() })
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(120*time.Second, cancel)
					got, err := c.ask(ctx, way.to(w, policy.Patient()))
					if !c.isCanceled(err) || got.Text != "The provider " || got.Stop != "" {
						t.Errorf("answer %+v, error %v", got, err)
					}
					synctest.Wait()
					if ended != 120*time.Second {
						t.Errorf("the provider's answer ended after %v", ended)
					}
					w.check(1, 120*time.Second)
				})
			})
		}
	}
}

// onBodyClose calls f when the body of an answer is closed.
func onBodyClose(next http.RoundTripper, f func()) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			resp.Body = &closing{resp.Body, f}
		}
		return resp, err
	})
}

type closing struct {
	io.ReadCloser
	f func()
}

func (c *closing) Close() error {
	c.f()
	return c.ReadCloser.Close()
}

func TestGateway_HoldsSDKRetry(t *testing.T) {
	for _, c := range stainless {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := healthy(t.Context(), t, c)
				w := newFixture(t, outage(time.Minute))
				s := w.gateway(policy.Patient())
				s.client = afterRestart(s.client.Transport)
				got, err := c.ask(t.Context(), s)
				if err != nil || got.anonymous() != want {
					t.Errorf("answer %+v, error %v; %d requests at the gateway, %s at the provider", got, err, w.asked.Load(), w.outcomes())
				}
			})
		})
	}
}

// afterRestart is a gateway that is not up yet when the first request comes.
func afterRestart(next http.RoundTripper) *http.Client {
	up := false
	return &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if !up {
			up = true
			return nil, syscall.ECONNREFUSED
		}
		return next.RoundTrip(req)
	})}
}
