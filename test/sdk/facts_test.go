package sdk_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// The behavior of the SDKs that package transport relies on.

func TestSDK_DefaultRetries(t *testing.T) {
	overloaded := func(h http.Header) roundTripper {
		return func(req *http.Request) (*http.Response, error) {
			body := io.NopCloser(strings.NewReader(`{"error":{"message":"Overloaded"}}`))
			return &http.Response{StatusCode: 529, Header: h, Body: body, Request: req}, nil
		}
	}
	tests := []struct {
		name  string
		next  roundTripper
		calls int64
	}{
		{"an error", func(*http.Request) (*http.Response, error) { return nil, errors.New("no connection") }, 3},
		{"a 529", overloaded(http.Header{}), 3},
		{"a 529 with X-Should-Retry: false", overloaded(http.Header{"X-Should-Retry": {"false"}}), 1},
	}
	for _, c := range calls {
		for _, tt := range tests {
			t.Run(c.name+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFixture(t, simulator.Script{})
					_, err := c.ask(t.Context(), endpoint{url: "http://provider.test", client: w.countingClient(tt.next)})
					want := tt.calls
					if !c.again {
						want = 1
					}
					if n := w.asked.Load(); err == nil || n != want {
						t.Errorf("%d requests, error %v", n, err)
					}
				})
			})
		}
	}
}

func TestSDK_RequestAllowsRetries(t *testing.T) {
	tests := []struct {
		call
		limit  time.Duration // 0: none
		header string
	}{
		{messagesNew, 10 * time.Minute, "600"},
		{messagesNewStreaming, 0, ""},
		{chatNew, 0, ""},
		{chatNewStreaming, 0, ""},
		{responsesNew, 0, ""},
		{responsesNewStreaming, 0, ""},
		{studioOld, 0, ""},
		{studioOldStreaming, 0, ""},
		{generateContent, 0, ""},
		{generateContentStream, 0, ""},
		{ollamaChat, 0, ""},
		{ollamaChatStreaming, 0, ""},
		{ollamaGenerate, 0, ""},
		{ollamaGenerateStreaming, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, simulator.Script{})
				look := roundTripper(func(req *http.Request) (*http.Response, error) {
					end, ok := req.Context().Deadline()
					if ok != (tt.limit > 0) || ok && time.Until(end) != tt.limit || req.Header.Get("X-Stainless-Timeout") != tt.header {
						t.Errorf("deadline in %v, header %v", end, req.Header)
					}
					if count := req.Header.Get("X-Stainless-Retry-Count"); req.GetBody == nil || (count == "0") != tt.again {
						t.Errorf("GetBody set: %t, header %v", req.GetBody != nil, req.Header)
					}
					return w.base.RoundTrip(req)
				})
				if _, err := tt.ask(t.Context(), endpoint{url: "http://provider.test", client: w.countingClient(look)}); err != nil {
					t.Errorf("ask: %v", err)
				}
			})
		})
	}
}

func TestTransport_RetryCountHeader(t *testing.T) {
	for _, c := range stainless {
		for _, way := range ways {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFixture(t, script(t, "529*3"))
					_, err := c.ask(t.Context(), way.to(w, policy.Patient()))
					var counts []string
					for _, r := range w.provider.Requests() {
						counts = append(counts, r.Header.Get("X-Stainless-Retry-Count"))
					}
					if err != nil || !slices.Equal(counts, []string{"0", "1", "2", "3"}) {
						t.Errorf("retry counts %q, error %v", counts, err)
					}
				})
			})
		}
	}
}

func TestTransport_EndsWithTheSDKsTimeout(t *testing.T) {
	tests := []struct {
		call
		status int // 0: the whole answer
		tries  int
		took   time.Duration
	}{
		{messagesNew, 529, 6, 405 * time.Second}, // the next wait is ten minutes, and so is the SDK's limit
		{messagesNewStreaming, 0, 11, afterTwoHours},
		{chatNew, 0, 11, afterTwoHours},
		{chatNewStreaming, 0, 11, afterTwoHours},
		{responsesNew, 0, 11, afterTwoHours},
		{responsesNewStreaming, 0, 11, afterTwoHours},
		{studioChat, 0, 11, afterTwoHours},
		{studioChatStreaming, 0, 11, afterTwoHours},
		{studioOld, 0, 11, afterTwoHours},
		{studioOldStreaming, 0, 11, afterTwoHours},
		{generateArray, 0, 11, afterTwoHours},
		{generateContent, 0, 11, afterTwoHours},
		{generateContentStream, 0, 11, afterTwoHours},
		{ollamaChat, 0, 11, afterTwoHours},
		{ollamaChatStreaming, 0, 11, afterTwoHours},
		{ollamaGenerate, 0, 11, afterTwoHours},
		{ollamaGenerateStreaming, 0, 11, afterTwoHours},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := answer{}
				if tt.status == 0 {
					want = healthy(t.Context(), t, tt.call)
				}
				w := newFixture(t, outage(2*time.Hour))
				got, err := tt.ask(t.Context(), w.transport(policy.Patient()))
				if r := reasonOf(err); r.Status != tt.status || (err == nil) != (tt.status == 0) || got.anonymous() != want {
					t.Errorf("answer %+v, status %d, error %v", got, r.Status, err)
				}
				w.check(tt.tries, tt.took)
			})
		})
	}
}
