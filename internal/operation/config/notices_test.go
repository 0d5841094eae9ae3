package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
)

func TestConfig_Notices(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ntfy-token", "tk_1\n")
	c, err := config.Load(write(t, dir, "config.yaml", integer))
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	s, err := c.Notices(env("SLACK_WEBHOOK=https://hooks.example/T0"))
	if err != nil {
		t.Fatalf("notices: %s", config.Excerpts(err))
	}
	if s.After != 2*time.Minute || s.Remind != 0 || len(s.Targets) != 3 {
		t.Fatalf("settings: got %+v, want after 2m, no reminders and 3 targets", s)
	}
	if diff := cmp.Diff(map[string]string{"third": "https://status.claude.com/api/v2/summary.json"}, s.Feeds); diff != "" {
		t.Errorf("feeds (-want +got):\n%s", diff)
	}
	for i, want := range []string{"https://hooks.example/T0", "https://ntfy.sh/topic"} {
		if got, err := s.Targets[i].URL(); got != want || err != nil {
			t.Errorf("URL of %s: got %q, %v; want %q", s.Targets[i].Name, got, err, want)
		}
	}
	if token, err := s.Targets[1].Token(); token != "tk_1" || err != nil {
		t.Errorf("token: got %q, %v; want that of the file", token, err)
	}
	if diff := cmp.Diff([]notify.Event{notify.Began, notify.Ended}, s.Targets[0].Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if s.Targets[1].Template == "" || s.Targets[2].URL != nil {
		t.Errorf("targets: got %+v, want a template for the second and no URL for the third", s.Targets)
	}
	usual := parse(t, "notices: {to: {here: {kind: desktop}}}\n")
	if s, err := usual.Notices(env()); err != nil || s.After != time.Minute || s.Remind != time.Hour {
		t.Errorf("defaults: got %+v, %v; want after 1m, remind 1h", s, err)
	}
}

func TestConfig_NoticesReportMistakes(t *testing.T) {
	for _, c := range []struct{ target, want, secret string }{
		{`{kind: slack, url: "https://hooks.slack.com/services/T0/B0/abcd"}`, "is a secret, which must not be in the configuration file", "abcd"},
		{`{kind: ntfy, url: "https://me:abcd@ntfy.sh/topic"}`, "the URL has a user name or a password; use token", "abcd"},
		{`{kind: ntfy, url: "abcd"}`, "the URL is no URL such as https://ntfy.sh/topic", "abcd"},
		{`{kind: webhook}`, "webhook needs the field url", ""},
		{`{kind: desktop, url: "http://127.0.0.1:1"}`, "desktop has no url", ""},
		{`{url: "http://127.0.0.1:1"}`, "the field kind is required", ""},
		{`{kind: pager, url: "http://127.0.0.1:1"}`, `"pager"; want a kind of target: webhook, ntfy, slack or desktop`, ""},
		{`{kind: webhook, url: "http://127.0.0.1:1", events: [sometimes]}`, `"sometimes"; want an event`, ""},
		{`{kind: webhook, url: "http://127.0.0.1:1", template: "${prompt}"}`, "a notice has no ${prompt}", ""},
		{`{kind: webhook, url: "http://127.0.0.1:1", token: "abcd"}`, "a secret must not be in the configuration file", "abcd"},
	} {
		_, err := config.Parse("config.yaml", []byte("notices:\n  to:\n    a: "+c.target+"\n"))
		if err == nil {
			t.Errorf("%s: got no error, want %q", c.target, c.want)
			continue
		}
		said := config.Excerpts(err)
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: got %s, want %q", c.target, said, c.want)
		}
		if c.secret != "" && strings.Contains(said, c.secret) {
			t.Errorf("%s: the secret is in the error: %s", c.target, said)
		}
	}
	c := parse(t, `notices: {to: {a: {kind: slack, url: {env: HOOK}, token: {env: TOKEN}}}}`)
	_, err := c.Notices(env("HOOK=hooks.example/abcd"))
	said := config.Excerpts(err)
	for _, want := range []string{"URL of a: it is no URL", "token: environment variable TOKEN is empty or not set"} {
		if !strings.Contains(said, want) || strings.Contains(said, "abcd") {
			t.Errorf("secrets that are wrong: got %s, want %q", said, want)
		}
	}
}
