package running_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/cli/running"
)

func TestGateway_OnlyOneOfOursAnswers(t *testing.T) {
	for body, want := range map[string]bool{`{"waits":[]}`: true, `{"waits":null}`: false, `{}`: false, `<html>`: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		if got := (running.Gateway{URL: s.URL}).Answers(t.Context()); got != want {
			t.Errorf("a server that answers %s: got %t, want %t", body, got, want)
		}
		s.Close()
	}
	if (running.Gateway{URL: "http://127.0.0.1:1"}).Answers(t.Context()) {
		t.Error("nothing listens, and a gateway answers")
	}
}

func TestGateway_BoundsAreThoseThatHoldForEveryCall(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"policies":[
			{"usedBy":["anthropic","openai","gemini, route 1"],"maxWaitMs":60000},
			{"usedBy":["anthropic, route 1"],"maxWaitMs":600000,"deadlineMs":90000},
			{"usedBy":["openai, route 1"]},{"usedBy":["gemini"],"deadlineMs":30000},{"usedBy":[],"maxWaitMs":1}]}`)
	}))
	defer s.Close()
	want := map[string]time.Duration{"anthropic": 90 * time.Second, "gemini": time.Minute}
	got, err := running.Gateway{URL: s.URL}.Bounds(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("bounds (-want +got), error %v:\n%s", err, diff)
	}
}

func TestGateway_ErrorsSayWhatAnswered(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer other.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Ridethrough-Token") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"detail":"the token is missing"}`)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer refusing.Close()
	for _, c := range []struct{ url, token, want string }{
		{"http://127.0.0.1:1", "", "no gateway answers at http://127.0.0.1:1: connection refused"},
		{other.URL, "", "no gateway answers at " + other.URL + ": another program does"},
		{refusing.URL, "", "the token is missing"},
		{refusing.URL, "t", "418 I'm a teapot"},
	} {
		_, err := running.Gateway{URL: c.url, Token: c.token}.Waits(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("the waits at %s: got error %v, want it to begin with %q", c.url, err, c.want)
		}
	}
}

func TestGateway_LivesUnlessItSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string // want: what the error contains; "": there is none
	}{
		{http.StatusOK, `{"status":"ok"}`, ""},
		{http.StatusServiceUnavailable, `{"status":"frozen","reason":"the list of events has not moved"}`, "frozen: the list of events has not moved"},
		{http.StatusOK, `<html>`, "another program does"},
		{http.StatusOK, `{}`, "another program does"},
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/-/livez" || r.Header.Get("X-Ridethrough-Token") != "" {
				t.Errorf("request %s with the token %q, want /-/livez without", r.URL.Path, r.Header.Get("X-Ridethrough-Token"))
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
			s := start(handler)
			err := running.Gateway{URL: s.URL, Token: "secret"}.Live(t.Context())
			if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%d %s at %s: got %v, want %q", c.status, c.body, s.URL, err, c.want)
			}
			s.Close()
		}
	}
	if err := (running.Gateway{URL: "http://127.0.0.1:1"}).Live(t.Context()); !errors.As(err, new(running.Unreachable)) {
		t.Errorf("nothing listens: got %v, want Unreachable", err)
	}
}

func TestWait_IsDueWhenItsWindowOpens(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		wait running.Wait
		want time.Time
	}{
		{running.Wait{Heard: noon}, time.Time{}},
		{running.Wait{Heard: noon, RemainingMs: 5000}, noon.Add(5 * time.Second)},
		{running.Wait{Heard: noon, RemainingMs: 5000, OpensAt: noon.Add(time.Hour)}, noon.Add(time.Hour)},
	} {
		if got := c.wait.Due(); !got.Equal(c.want) {
			t.Errorf("%+v: due %v, want %v", c.wait, got, c.want)
		}
	}
}

// What has passed is rounded as the page and the events round it: to the nearest second.
func TestWaits_WaitedToTheNearestSecond(t *testing.T) {
	now := time.Date(2026, 11, 2, 21, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		waited, heard time.Duration // heard: how long ago
		want          string
	}{
		{2 * time.Second, 0, "2s"},
		{2 * time.Second, 40 * time.Millisecond, "2s"},
		{2 * time.Second, 600 * time.Millisecond, "3s"},
		{0, 0, "1s"},
		{12400 * time.Millisecond, 0, "12s"},
		{2*time.Hour + 31*time.Minute, 0, "2h31m"},
	} {
		w := running.Wait{WaitedMs: tt.waited.Milliseconds(), Heard: now.Add(-tt.heard)}
		if got := running.Waited(w, now); got != tt.want {
			t.Errorf("a wait of %v, heard %v ago: got %q, want %q", tt.waited, tt.heard, got, tt.want)
		}
	}
}
