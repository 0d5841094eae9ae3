package doctor_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/store"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// says tells of findings in lines.
func says(all ...doctor.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s: %s\n", f.State, f.Check, f.Text)
	}
	return b.String()
}

// patient is a store whose health the test chooses.
type patient struct {
	store.Store
	health store.Health
	err    error
	torn   string // the conversation that is damaged
}

func (p patient) Health(context.Context) (store.Health, error) { return p.health, p.err }

func (p patient) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	return func(yield func(store.Head, error) bool) {
		for head, err := range p.Store.Conversations(ctx, before) {
			if head.ID == p.torn {
				head, err = store.Head{}, &store.Damage{Conversation: p.torn, N: 7, Why: "torn"}
			}
			if !yield(head, err) || err != nil {
				return
			}
		}
	}
}

func TestStore_DescribesItsHealth(t *testing.T) {
	tests := []struct {
		health store.Health
		err    error
		want   string
	}{
		{store.Health{}, store.ErrUnavailable, "problem store: the store does not answer\n"},
		{
			store.Health{Mode: "standalone", Dir: "/data", Server: "2.15.2", Logs: 3, Bytes: 1_234_567, Scheduled: 2, Due: 1, FreeBytes: 56_000_000_000, SyncLatency: 400 * time.Microsecond},
			nil,
			"ok store: /data, used by one process, with NATS 2.15.2 embedded: 3 conversations, 1.2 MB; 2 turns waiting, 1 due\n" +
				"ok disk: 56.0 GB free\nok sync: the disk takes 400µs to sync a write\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", SyncLatency: 9 * time.Millisecond, Warnings: []string{"the disk takes 9ms"}},
			nil,
			"ok store: /data, used by one process, with NATS  embedded: 0 conversations, 0 bytes; 0 turns waiting, 0 due\nwarning store: the disk takes 9ms\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", Full: true, FreeBytes: 1, Warnings: []string{"no room"}},
			nil,
			"ok store: /data, used by one process, with NATS  embedded: 0 conversations, 0 bytes; 0 turns waiting, 0 due\nproblem store: no room\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", Losses: []store.Loss{{Noticed: now, First: 6, Last: 9, Messages: 2, Conversation: "c1", N: 3}}},
			nil,
			"ok store: /data, used by one process, with NATS  embedded: 0 conversations, 0 bytes; 0 turns waiting, 0 due\n" +
				"problem store: 2026-11-21T12:00:00Z: 2 acknowledged messages were lost of conversation c1 from record 3 on (among numbers 6 to 9 of the stream)\n" +
				"warning store: losses are reported until /data/losses is deleted\n",
		},
		{
			store.Health{Mode: "remote", Server: "2.14.0", Replicas: 3, Bytes: 999},
			nil,
			"ok store: NATS servers of version 2.14.0, stored on 3 servers: 0 conversations, 999 bytes; 0 turns waiting, 0 due\n" +
				"warning sync: cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes\n",
		},
		{
			store.Health{Mode: "remote", Server: "2.14.0", Replicas: 1, Warnings: []string{"everything is on one server"}},
			nil,
			"ok store: NATS servers of version 2.14.0, stored on one server: 0 conversations, 0 bytes; 0 turns waiting, 0 due\n" +
				"warning sync: cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes\n" +
				"warning store: everything is on one server\n",
		},
	}
	for _, tt := range tests {
		if got := says(doctor.Store(t.Context(), patient{health: tt.health, err: tt.err})...); got != tt.want {
			t.Errorf("health %+v: got\n%swant\n%s", tt.health, got, tt.want)
		}
	}
}

func TestLogs_NamesDamagedConversations(t *testing.T) {
	e := store.Memory()
	at := now
	for _, id := range []string{"a", "b", "c", "later"} {
		if id == "later" {
			at = now.Add(time.Hour)
		}
		records := []store.Record{
			{Time: at, Type: "conversation-created", Body: json.RawMessage(`{"format":1,"model":"acme/large"}`)},
			{Time: at, Turn: "t", Type: "input-queued", Body: json.RawMessage(`{"text":"hello"}`)},
		}
		if id == "c" {
			records[1].Body = json.RawMessage(`{"text":1}`)
		}
		if _, err := e.Append(t.Context(), id, store.Position{}, records...); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	if _, err := e.Append(t.Context(), "other", store.Position{}, store.Record{Type: "x"}); err != nil {
		t.Fatalf("append: %v", err)
	}
	all := doctor.Logs(t.Context(), patient{Store: e, torn: "b"}, now)
	got, want := says(all...), []string{
		"problem logs: conversation c is damaged from record 2 on: ",
		"problem logs: conversation b is damaged from record 7 on: torn",
		"warning clock: conversation later was written at 2026-11-21T13:00:00Z, in the future",
		"ok logs: 2 conversations with 4 records intact; 2 active",
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i, begins := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], begins) {
			t.Errorf("line %d: got\n%s, want it to begin with %q", i, got, begins)
		}
	}
	if doctor.Well(all) || !doctor.Well(all[2:]) {
		t.Error("Well: want false with a problem and true with a warning")
	}
	_ = e.Close(t.Context())
	if got := says(doctor.Logs(t.Context(), e, now)...); got != "problem logs: the store is closed\n" {
		t.Errorf("logs of a closed store: %s", got)
	}
}

func TestFiles_ReportsDamageAndLosses(t *testing.T) {
	losses := make([]store.Loss, 22)
	for i := range losses {
		losses[i] = store.Loss{Noticed: now, Jobs: true, Messages: 1, Turn: "t1"}
	}
	got := strings.Split(strings.TrimSpace(says(doctor.Files([]string{"/data/1.blk"}, losses)...)), "\n")
	for i, want := range map[int]string{
		0:  "problem store: 2026-11-21T12:00:00Z: 1 acknowledged job was lost of turn t1",
		20: "problem store: and 2 more losses",
		21: "problem store: /data/1.blk is damaged",
		22: "warning store: the store was not opened",
	} {
		if len(got) != 23 || !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d of %d: want %q in\n%s", i, len(got), want, strings.Join(got, "\n"))
		}
	}
	if all := doctor.Files(nil, nil); len(all) != 0 {
		t.Errorf("files without damage: got %+v, want nothing", all)
	}
}

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

func TestReach_UnreachableIsAProblemIfUsed(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	secure := httptest.NewUnstartedServer(nil)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	defer secure.Close()
	elsewhere := "http://a.invalid"
	tests := []struct {
		url         string
		known, used bool
		state       doctor.State
		says        string
	}{
		{gone.URL, true, false, doctor.OK, "not running at its default address " + gone.URL},
		{gone.URL, false, false, doctor.Problem, "refused"},
		{strings.Replace(gone.URL, "http://", "http://user:sesame@", 1), false, false, doctor.Problem, "http://user:xxxxx@127.0.0.1"},
		{secure.URL, false, true, doctor.Problem, "certificate"},
		{elsewhere, true, false, doctor.Warning, "no API key is set"},
		{elsewhere, true, true, doctor.Problem, "cannot be reached"},
	}
	for _, tt := range tests {
		a := address(t, tt.url)
		a.Default, a.HasKey = tt.known, tt.used
		ctx := t.Context()
		if tt.url == elsewhere { // no name is looked up
			c, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("no network"))
			ctx = c
		}
		f, _ := doctor.Reach(ctx, a)
		if f.State != tt.state || !strings.Contains(f.Text, tt.says) || strings.Contains(f.Text, "sesame") {
			t.Errorf("%s known %v, used %v: got %+v, want %v and %q, and no password", tt.url, tt.known, tt.used, f, tt.state, tt.says)
		}
	}
	if f := doctor.Ready(t.Context(), gone.URL); f.State != doctor.Warning || !strings.Contains(f.Text, "no server answers at") {
		t.Errorf("ready without a server: %+v, want a warning", f)
	}
}
