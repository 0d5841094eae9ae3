package gateway_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// describe returns an event in a few words.
func describe(e gateway.Event) string {
	switch event := e.Event.(type) {
	case turn.Start:
		return "start"
	case turn.Retry:
		return fmt.Sprintf("retry %d in %v", event.Wait.Retry(), event.Verdict.Wait)
	case turn.Recovered:
		return fmt.Sprintf("recovered after %d", event.Retries)
	case turn.Error:
		return fmt.Sprintf("error %s (%s) after %d", event.Kind, event.Stop, event.Retries)
	case turn.Sealed:
		return fmt.Sprintf("%s after %d in %v with %d", event.Status, event.RetryCount, event.TotalRetryDelay, e.Status)
	}
	if e.Joined != 0 {
		return fmt.Sprintf("joined %d", e.Joined)
	}
	if e.Try.Fault != nil {
		return fmt.Sprintf("try %d %s", e.Try.N, e.Try.Fault.Kind)
	}
	return fmt.Sprintf("try %d", e.Try.N)
}

// story returns what has happened to a request.
func (w *harness) story(id int64) string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, e := range w.all {
		if e.Call.ID == id {
			all = append(all, describe(e))
		}
	}
	return strings.Join(all, ", ")
}

func TestOnEvent_CourseOfARequest(t *testing.T) {
	twice := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{5 * time.Second}}}
	const failing = "start, try 1 overloaded, retry 1 in 5s, try 2 overloaded, retry 2 in 5s"
	for _, tt := range []struct {
		name, replies, want string
		do                  func(w *harness, leave func())
	}{
		{"answered at once", "", "start, try 1, done after 0 in 0s with 200", nil},
		{"answered after a retry", "529", "start, try 1 overloaded, retry 1 in 5s, try 2, recovered after 1, done after 1 in 5s with 200", nil},
		{
			"exhausted", "529, 529, 529",
			failing + ", try 3 overloaded, error overloaded (exhausted) after 2, failed after 2 in 10s with 200", nil,
		},
		{"refused", "401", "start, try 1 auth, error auth (final) after 0, failed after 0 in 0s with 401", nil},
		{
			"broken off", "cut:3",
			"start, try 1, error truncated (committed) after 0, failed after 0 in 0s with 200", nil,
		},
		{
			"left", "529, 529, silence", failing + ", try 3 canceled, error canceled () after 1, aborted after 1 in 10s with 0",
			func(_ *harness, leave func()) { leave() },
		},
		{
			"closed", "529, 529, silence", failing + ", try 3 canceled, error overloaded () after 1, failed after 1 in 10s with 200",
			func(w *harness, _ func()) { w.gateway.Close() },
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, twice, simulator.Script{Replies: replies(t, tt.replies)})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if tt.do != nil {
				time.AfterFunc(12*time.Second, func() { tt.do(w, leave) })
			}
			if resp, err := w.ask(ctx, "/v1/messages", claude); err == nil {
				defer resp.Body.Close()
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if got := w.story(1); got != tt.want {
				t.Errorf("%s: events\n got %s\nwant %s", tt.name, got, tt.want)
			}
		})
	}
}

func TestOnEvent_JoiningRequestHasTheOthersID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		ctx, leave := context.WithCancel(t.Context())
		ask := func(headers ...string) { // and reads what comes, as a client that reads nothing is gone
			if resp, err := w.ask(ctx, "/v1/messages", whole(claude), headers...); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		go ask()
		time.Sleep(time.Minute)
		go ask("X-Stainless-Retry-Count", "1")
		time.Sleep(time.Second)
		leave()
		if got, want := w.story(2), "start, joined 1, error canceled () after 3, aborted after 3 in 1m1s with 0"; got != want {
			t.Errorf("events of the request that joined: got %s, want %s", got, want)
		}
	})
}

// The usage of an answer is read where something depends on it, such as the prompt cache of a session.
func TestOnEvent_EndHasTheTokensThatAreKnown(t *testing.T) {
	for _, headers := range [][]string{nil, {sessionID, "s1"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{})
			_, _, _ = w.get(messages, cachedPrompt, headers...)
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			end := w.all[len(w.all)-1]
			if _, ends := end.Event.(turn.Sealed); !ends || (end.Used.Input+end.Used.Cached > 0) != (headers != nil) || (end.Used.Output > 0) != (headers != nil) {
				t.Errorf("with headers %v: the last event is %+v, want tokens only for a session", headers, end)
			}
		})
	}
}
