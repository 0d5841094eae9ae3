package notify_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/notify"
)

// request is one that a server got.
type request struct {
	at             time.Duration
	path, body     string
	header         http.Header
	method, target string
}

// server is the other side of targets, without a network.
type server struct {
	mu     sync.Mutex
	start  time.Time
	got    []request
	answer func(n int, w http.ResponseWriter) // n counts from 1; nil: 200
}

func newServer(answer func(int, http.ResponseWriter)) *server {
	return &server{start: time.Now(), answer: answer}
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.got = append(s.got, request{time.Since(s.start), r.URL.Path, string(body), r.Header, r.Method, r.URL.String()})
	n := len(s.got)
	s.mu.Unlock()
	w := httptest.NewRecorder()
	if s.answer != nil {
		s.answer(n, w)
	}
	return w.Result(), nil
}

func (s *server) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.got...)
}

func text(s string) func() (string, error) { return func() (string, error) { return s, nil } }

// hook is a target with a URL that is a secret.
func hook(kind notify.Kind) notify.Target {
	return notify.Target{Name: "team", Kind: kind, URL: text("https://hooks.example/T0/secret-part")}
}

// outage is a notice of an outage.
func outage() notify.Notice {
	at := time.Date(2026, 11, 22, 14, 2, 0, 0, time.UTC)
	return notify.Notice{
		Event: notify.Began, ID: "20261122-140100-anthropic", Upstream: "anthropic", Models: []string{"claude-opus-5"}, Cause: "server overloaded",
		At: at, Began: at.Add(-time.Minute), Lasted: time.Minute, Tries: 17, Failures: 12, Calls: 5, Held: 1, Vendor: "All Systems Operational", Host: "host",
	}
}

func TestNotice_LeavesOutWhatIsNotKnown(t *testing.T) {
	n := outage()
	n.Tries, n.Failures, n.Vendor, n.Models = 0, 0, "", nil
	if got, want := n.Text(), "Server overloaded since "+n.Began.Local().Format("15:04 MST")+". 4 calls are waiting."; got != want {
		t.Errorf("text without a number of requests: got %q, want %q", got, want)
	}
}

func TestNotice_SaysHowLongItLasted(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Second: "10s", 70 * time.Second: "1m10s", 12 * time.Minute: "12m", time.Hour: "1h",
		3*time.Hour + 10*time.Minute: "3h10m", 10*time.Hour + 4*time.Second: "10h", time.Hour - time.Millisecond: "1h",
	} {
		n := outage()
		n.Event, n.Lasted = notify.Ended, d
		if got := n.Text(); !strings.Contains(got, " for "+want+":") {
			t.Errorf("an outage of %v: got %q, want it to have lasted %s", d, got, want)
		}
	}
}

func TestTarget_SendsEachKind(t *testing.T) {
	local := outage().Began.Local().Format("15:04 MST")
	words := "Server overloaded since " + local + ", 71 % of 17 requests failed. Their status page says: All Systems Operational. 4 calls are waiting. Models: claude-opus-5."
	for _, c := range []struct {
		kind         notify.Kind
		token        string
		title, auth  string
		contentType  string
		body         string
		bodyContains string
	}{
		{kind: notify.Ntfy, token: "tk_1", title: "anthropic fails", auth: "Bearer tk_1", contentType: "text/plain; charset=utf-8", body: words},
		{kind: notify.Slack, contentType: "application/json", body: `{"text":"*anthropic fails*\n` + words + `"}`},
		{kind: notify.Webhook, contentType: "application/json", bodyContains: `"tries":17,"failures":12,"failedPercent":71,"calls":5,"held":1,"waiting":4,"vendor":"All Systems Operational"`},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			s := newServer(nil)
			target := hook(c.kind)
			if c.token != "" {
				target.Token = text(c.token)
			}
			if err := target.Send(t.Context(), &http.Client{Transport: s}, outage()); err != nil {
				t.Fatalf("send: %v", err)
			}
			got := s.requests()
			if len(got) != 1 {
				t.Fatalf("requests: got %d, want 1", len(got))
			}
			r := got[0]
			if r.method != http.MethodPost || r.path != "/T0/secret-part" {
				t.Errorf("request: got %s %s, want POST /T0/secret-part", r.method, r.path)
			}
			if c.body != "" && r.body != c.body {
				t.Errorf("body: got %s, want %s", r.body, c.body)
			}
			if !strings.Contains(r.body, c.bodyContains) {
				t.Errorf("body: got %s, want in it %s", r.body, c.bodyContains)
			}
			for name, want := range map[string]string{"Title": c.title, "Authorization": c.auth, "Content-Type": c.contentType} {
				if got := r.header.Get(name); got != want {
					t.Errorf("header %s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

// A webhook's receiver may rely on these names.
func TestTarget_WebhookHasTheDocumentedFields(t *testing.T) {
	s, target := newServer(nil), hook(notify.Webhook)
	for _, n := range notify.Sample("host", outage().At) {
		if err := target.Send(t.Context(), &http.Client{Transport: s}, n); err != nil {
			t.Fatalf("send %s: %v", n.Event, err)
		}
	}
	manual, err := os.ReadFile("../../../docs/operation.md")
	if err != nil {
		t.Fatalf("read the manual: %v", err)
	}
	for _, r := range s.requests() {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(r.body), &fields); err != nil {
			t.Fatalf("body %s: %v", r.body, err)
		}
		for name := range fields {
			if !strings.Contains(string(manual), "`"+name+"`") {
				t.Errorf("docs/operation.md: field %s of %s is not described", name, fields["event"])
			}
		}
	}
}

func TestTarget_SlackMarkupInANameIsText(t *testing.T) {
	s, target, n := newServer(nil), hook(notify.Slack), outage()
	n.Models = []string{"<!channel> & co"}
	if err := target.Send(t.Context(), &http.Client{Transport: s}, n); err != nil {
		t.Fatalf("send: %v", err)
	}
	if body := s.requests()[0].body; !strings.Contains(body, `\u0026lt;!channel\u0026gt; \u0026amp; co`) {
		t.Errorf("body: got %s, want the name escaped", body)
	}
}

func TestTarget_TemplateIsTheTextOrTheBody(t *testing.T) {
	for _, c := range []struct {
		kind                 notify.Kind
		template, want, form string
	}{
		{notify.Ntfy, "${upstream}: ${failedPercent} %, ${waiting} waiting", "anthropic: 71 %, 4 waiting", "text/plain; charset=utf-8"},
		{notify.Webhook, `{"content":${json text}}`, `{"content":"Server overloaded since `, "application/json"},
		{notify.Webhook, "${title} on ${host}$", "anthropic fails on host$", "text/plain; charset=utf-8"},
	} {
		s, target := newServer(nil), hook(c.kind)
		var err error
		if target.Template, err = notify.Parse(c.template); err != nil {
			t.Fatalf("parse %s: %v", c.template, err)
		}
		if err := target.Send(t.Context(), &http.Client{Transport: s}, outage()); err != nil {
			t.Fatalf("send with %s: %v", c.template, err)
		}
		if r := s.requests()[0]; !strings.HasPrefix(r.body, c.want) || r.header.Get("Content-Type") != c.form {
			t.Errorf("template %s: got %s as %s, want %s as %s", c.template, r.body, r.header.Get("Content-Type"), c.want, c.form)
		}
	}
}

func TestParse_RefusesWhatIsNoField(t *testing.T) {
	for _, text := range []string{"${prompt}", "${title", "${}", "${json}", "${TITLE}"} {
		if _, err := notify.Parse(text); err == nil {
			t.Errorf("Parse(%q): got no error, want one", text)
		}
	}
}

func TestTarget_ErrorsDoNotNameTheURL(t *testing.T) {
	dead := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	refuse := newServer(func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
	redirect := newServer(func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", "https://elsewhere.example")
		w.WriteHeader(http.StatusFound)
	})
	client := notify.NewClient()
	for name, transport := range map[string]http.RoundTripper{"dead": dead, "refuses": refuse, "redirects": redirect} {
		client.Transport = transport
		target := hook(notify.Webhook)
		err := target.Send(t.Context(), client, outage())
		if err == nil || strings.Contains(err.Error(), "secret-part") {
			t.Errorf("a server that %s: got %v, want an error without the URL", name, err)
		}
	}
	if got := len(redirect.requests()); got != 1 {
		t.Errorf("requests of one that is redirected: got %d, want 1", got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNotifier_TriesAgainWhatMayPass(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(int, http.ResponseWriter)
		tries  int
		wrong  bool
	}{
		{"passes", nil, 1, false},
		{"is busy twice", func(n int, w http.ResponseWriter) {
			if n < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, 3, false},
		{"is never well", func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 11, true},
		{"refuses", func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(c.answer)
			n := notify.New(slog.New(slog.DiscardHandler), s)
			n.Use([]notify.Target{hook(notify.Webhook)})
			n.Send(outage())
			time.Sleep(10 * time.Minute)
			if got := len(s.requests()); got != c.tries {
				t.Errorf("a target that %s: got %d requests, want %d", c.name, got, c.tries)
			}
			if got := n.Warnings(); (len(got) > 0) != c.wrong {
				t.Errorf("a target that %s: warnings %q, want some: %v", c.name, got, c.wrong)
			}
			n.Close(time.Second)
		})
	}
}

func TestNotifier_ADeadTargetHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := func(n int, w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
		s := newServer(dead)
		n := notify.New(slog.New(slog.DiscardHandler), s)
		n.Use([]notify.Target{hook(notify.Webhook)})
		began := time.Now()
		for range 1000 {
			n.Send(outage())
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Send of 1000 notices: took %v, want 0", took)
		}
		time.Sleep(24 * time.Hour)
		if got := len(s.requests()); got > 17*11 {
			t.Errorf("requests for 1000 notices: got %d, want at most those of 17 notices", got)
		}
		n.Send(outage())
		began = time.Now()
		n.Close(2 * time.Second)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("Close with a notice that waits: took %v, want at most its grace", took)
		}
	})
}

func TestNotifier_SendsTheEventsThatATargetWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(nil)
		n := notify.New(slog.New(slog.DiscardHandler), s)
		target := hook(notify.Ntfy)
		target.Events = []notify.Event{notify.Ended}
		n.Use([]notify.Target{target})
		for _, notice := range notify.Sample("host", time.Now()) {
			n.Send(notice)
		}
		n.Close(time.Minute)
		var titles []string
		for _, r := range s.requests() {
			titles = append(titles, r.header.Get("Title"))
		}
		if diff := cmp.Diff([]string{"anthropic is back", "Test of ridethrough"}, titles); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
	})
}

// The program is a script in place of notify-send.
func TestTarget_DesktopRunsNotifySend(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '%s|' \"$@\" > " + filepath.Join(dir, "said") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o700); err != nil {
		t.Fatalf("write the script: %v", err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	target, n := notify.Target{Kind: notify.Desktop}, outage()
	n.Models = []string{"$(touch x) <b>"}
	if err := target.Send(t.Context(), nil, n); err != nil {
		t.Fatalf("send: %v", err)
	}
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatalf("read what was said: %v", err)
	}
	if got := string(said); !strings.HasPrefix(got, "--app-name=ridethrough|--|anthropic fails|") || !strings.Contains(got, "$(touch x) &lt;b&gt;") {
		t.Errorf("arguments: got %s, want the title and the text, escaped", got)
	}
}
