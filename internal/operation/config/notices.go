package config

import (
	"cmp"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/notify"
)

// notices configures the notices about outages; zero: none are sent.
type notices struct {
	_ struct{} `name:"notices" about:"Notices about outages and limits." want:"to, after and remind"`

	to     []target      `yaml:"to" list:"targets by name" keys:"target-name" doc:"Where notices go. ‘ridethrough notify test’ sends one to each." without:"nowhere"`
	after  time.Duration `yaml:"after" doc:"How long an outage lasts before its first notice. A shorter one causes no notice." default:"1m"`
	remind limit         `yaml:"remind" doc:"How often another notice is sent during an outage." default:"1h"`
}

type target struct {
	_ struct{} `name:"notice-target" about:"Where notices go." want:"the fields of a target"`

	name     string    `yaml:",name"`
	kind     string    `yaml:"kind" as:"notice-kind" doc:"‘webhook’ posts JSON, ‘ntfy’ posts to a topic, ‘slack’ to an incoming webhook of Slack, Mattermost, Rocket.Chat or Discord (its URL with /slack), ‘desktop’ runs notify-send or osascript on this machine." required:"true"`
	url      noticeURL `yaml:"url" doc:"Where to send it. The URL of ‘slack’ is a secret, and others may be; a secret must not be in the configuration file itself." without:"required, but for desktop"`
	token    secret    `yaml:"token" doc:"A token that is sent as ‘Authorization: Bearer’." without:"none"`
	events   []string  `yaml:"events" list:"a list of events" as:"notice-event" doc:"Which notices to send there." without:"all"`
	template string    `yaml:"template" as:"template" doc:"A template of the notice's text, or of the whole body for ‘webhook’." without:"the usual text"`
}

// noticeURL is a URL, or where it is stored if it is a secret.
type noticeURL struct {
	_ struct{} `want:"a URL such as https://ntfy.sh/topic, or {env: NAME} or {file: PATH}"`

	url    string `yaml:",text" as:"notice-url"`
	secret `yaml:",inline"`
}

func (t *target) check(r *reader, n *node) {
	u := n.field("url")
	switch {
	case t.kind == string(notify.Desktop):
		for _, name := range []string{"url", "token"} {
			if v := n.field(name); v != nil {
				r.fail(v, "desktop has no %s", name)
			}
		}
	case u == nil:
		r.fail(n, "%s needs the field url", t.kind)
	case t.kind == string(notify.Slack) && t.url.url != "":
		r.hide(u)
		r.fail(u, "the URL of a webhook of Slack is a secret, which must not be in the configuration file; want {env: NAME} or {file: PATH}")
	}
}

// Notices returns the targets of notices, with all secrets. Its errors are [Errors], such as for a missing token.
func (c *Config) Notices(env func(string) string) (notify.Settings, error) {
	m := mapper{config: c, env: env}
	s := notify.Settings{After: cmp.Or(c.notices.after, time.Minute), Remind: time.Hour, Feeds: map[string]string{}}
	setLimit(&s.Remind, c.notices.remind)
	for _, u := range c.all() {
		if u.statusPage != "" {
			s.Feeds[u.name] = notify.StatusURL(u.statusPage)
		}
	}
	for _, t := range c.notices.to {
		s.Targets = append(s.Targets, m.target(t))
	}
	if len(m.faults) > 0 {
		return notify.Settings{}, m.faults
	}
	return s, nil
}

func (m *mapper) target(t target) notify.Target {
	at := "notices.to." + t.name
	made := notify.Target{Name: t.name, Kind: notify.Kind(t.kind)}
	if t.token != (secret{}) {
		made.Token = m.secret(at+".token", "token", t.token)
	}
	switch {
	case t.url.url != "":
		made.URL = func() (string, error) { return t.url.url, nil }
	case t.url.secret != (secret{}):
		made.URL = m.noticeURL(at+".url", t.name, t.url.secret)
	}
	for _, e := range t.events {
		made.Events = append(made.Events, notify.Event(e))
	}
	if t.template != "" {
		made.Template, _ = notify.Parse(t.template) // it was checked when it was read
	}
	return made
}

func (m *mapper) noticeURL(path, name string, from secret) func() (string, error) {
	get := m.secret(path, "URL of "+name, from)
	if value, err := get(); err == nil && value != "" {
		if err := notify.CheckURL(value); err != nil {
			m.report(path, "URL of %s: it %v", name, err)
		}
	}
	return get
}
