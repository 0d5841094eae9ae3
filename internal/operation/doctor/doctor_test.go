package doctor_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/doctor"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// says prints findings as lines.
func says(all ...doctor.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s: %s\n", f.State, f.Check, f.Text)
	}
	return b.String()
}

// patient is a store whose health the test chooses.
func TestClock_ComparesWithElapsedTimeAndServers(t *testing.T) {
	tests := []struct {
		name  string
		now   time.Time
		jump  time.Duration
		skews []doctor.Skew
		want  string
	}{
		{"alone", now, time.Second, nil, "ok clock: 2026-11-21T12:00:00Z; not compared, because no server answered\n"},
		{"agreed", now, -time.Second, []doctor.Skew{{"a", time.Second}, {"b", -time.Second}}, "ok clock: 2026-11-21T12:00:00Z, in agreement with the servers that answered\n"},
		{"behind", now, 0, []doctor.Skew{{"a", time.Second}, {"b", 3 * time.Minute}}, "warning clock: the clock differs by 3m0s from that of b\n"},
		{"ahead", now, 0, []doctor.Skew{{"a", -time.Hour}}, "warning clock: the clock differs by 1h0m0s from that of a\n"},
		{"no battery", time.Unix(60, 0).UTC(), 0, nil, "problem clock: the clock is wrong: 1970-01-01T00:01:00Z; waits and certificates depend on it\n"},
		{"set back", now, -time.Hour, nil, "warning clock: the clock jumped by -1h0m0s during the checks: waits that ended meanwhile retry at once\n"},
	}
	for _, tt := range tests {
		if got := says(doctor.Clock(tt.now, tt.jump, tt.skews)); got != tt.want {
			t.Errorf("%s: got %s want %s", tt.name, got, tt.want)
		}
	}
	if d := doctor.Jump(time.Now(), time.Now()); d.Abs() > time.Second {
		t.Errorf("jump between two readings: %v, want none", d)
	}
}

func address(t *testing.T, text string) doctor.Address {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return doctor.Address{Name: "acme", URL: u}
}

func TestReach_AnyAnswerIsReachable(t *testing.T) {
	asked := make(chan *http.Request, 10)
	status, body := http.StatusUnauthorized, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	for _, status = range []int{200, 302, 401, 404} {
		f, skews := doctor.Reach(t.Context(), address(t, s.URL+"/v1"))
		if f.State != doctor.OK || !strings.HasPrefix(f.Text, s.URL+"/v1 answers after ") || len(skews) != 1 || skews[0].Ahead.Abs() > time.Minute {
			t.Errorf("status %d: got %+v and clocks %v, want it to be fine and one clock", status, f, skews)
		}
		if r := <-asked; r.Header.Get("Authorization") != "" || r.URL.Path != "/v1/" {
			t.Errorf("request %s with %v, want /v1/ without credentials", r.URL, r.Header)
		}
	}
	status = 529
	if f, _ := doctor.Reach(t.Context(), address(t, s.URL)); f.State != doctor.Warning || !strings.HasSuffix(f.Text, "answers with HTTP 529") {
		t.Errorf("reach with status 529: %+v, want a warning", f)
	}
	if f := doctor.Ready(t.Context(), s.URL); f.State != doctor.Warning || !strings.Contains(f.Text, "accepts no requests now (HTTP 529)") {
		t.Errorf("ready with status 529: %+v, want a warning", f)
	}
	status = 200
	if f := doctor.Ready(t.Context(), s.URL); f.State != doctor.OK {
		t.Errorf("ready with status 200: %+v, want ok", f)
	}
	body = `{"status":"ok","store":"unavailable"}`
	if f := doctor.Ready(t.Context(), s.URL); f.State != doctor.Problem || !strings.Contains(f.Text, "its store of conversations is not open") {
		t.Errorf("ready with a store that is not open: %+v, want a problem", f)
	}
}

func TestReach_UnreachableIsAProblem(t *testing.T) {
	const gone = "http://127.0.0.1:1"
	secure := httptest.NewUnstartedServer(nil)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	defer secure.Close()
	elsewhere := "http://a.invalid"
	tests := []struct{ url, says string }{
		{gone, "refused"},
		{strings.Replace(gone, "http://", "http://user:sesame@", 1), "http://user:xxxxx@127.0.0.1"},
		{secure.URL, "certificate"},
		{elsewhere, "cannot be reached"},
	}
	for _, tt := range tests {
		a := address(t, tt.url)
		ctx := t.Context()
		if tt.url == elsewhere { // no name is looked up
			c, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("no network"))
			ctx = c
		}
		f, _ := doctor.Reach(ctx, a)
		if f.State != doctor.Problem || !strings.Contains(f.Text, tt.says) || strings.Contains(f.Text, "sesame") {
			t.Errorf("%s: got %+v, want a problem and %q, and no password", tt.url, f, tt.says)
		}
	}
	if f := doctor.Ready(t.Context(), gone); f.State != doctor.Warning || !strings.Contains(f.Text, "no server answers at") {
		t.Errorf("ready without a server: %+v, want a warning", f)
	}
}

func TestUsual(t *testing.T) {
	if f := doctor.Usual(nil); f.State != doctor.Warning || !strings.Contains(f.Text, "offline") {
		t.Errorf("none answered: got %+v, want a warning", f)
	}
	if f := doctor.Usual([]string{"anthropic", "openai"}); f.State != doctor.OK || !strings.HasPrefix(f.Text, "anthropic, openai answer") {
		t.Errorf("two answered: got %+v, want both", f)
	}
}
