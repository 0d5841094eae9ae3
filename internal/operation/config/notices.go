package config

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/brief"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/operation/statusfeed"
)

// notices says who is told about outages, and when; zero: none is.
type notices struct {
	after, remind time.Duration
	to            names[target]
}

// target is where notices go.
type target struct {
	kind     string
	url      noticeURL
	token    secret
	events   []string
	template string
}

// noticeURL is a URL, or where it is stored if it is a secret.
type noticeURL struct {
	url string
	secret
}

// The times of notices that are not set.
const (
	defaultAfter  = time.Minute
	defaultRemind = time.Hour
)

// notifies is the codec of notices.
func notifies() codec[notices] {
	return object(
		&schema{name: "notices", about: "Who is told about outages and limits.", expected: "to, after and remind"}, nil,
		newField("to", byName[*names[target]]("targets by name", targetName(), targets()), func(n *notices) *names[target] { return &n.to }, fieldDoc{"Where notices go. `ridethrough notify test` sends one to each.", "", "nowhere"}),
		newField("after", duration(), func(n *notices) *time.Duration { return &n.after }, fieldDoc{"How long an outage lasts before its first notice. Nothing is said about a shorter one.", brief.Duration(defaultAfter), ""}),
		newField("remind", limit(), func(n *notices) *time.Duration { return &n.remind }, fieldDoc{"How often there is another notice while an outage goes on.", brief.Duration(defaultRemind), ""}),
	)
}

// targets is the codec of a target.
func targets() codec[target] {
	return checked(object(
		&schema{name: "notice-target", about: "Where notices go.", expected: "the fields of a target", Required: []string{"kind"}}, nil,
		newField("kind", oneOf("a kind of target", strs(notify.Kinds())...), func(t *target) *string { return &t.kind }, fieldDoc{"`webhook` posts JSON, `ntfy` posts to a topic, `slack` to an incoming webhook of Slack, Mattermost, Rocket.Chat or Discord (its URL with /slack), `desktop` runs notify-send or osascript on this machine.", "", "required"}),
		newField("url", noticeURLs(), func(t *target) *noticeURL { return &t.url }, fieldDoc{"Where it is sent. The URL of `slack` is a secret, and so may be others; those must not be in the configuration file itself.", "", "required, but for desktop"}),
		newField("token", secrets(), func(t *target) *secret { return &t.token }, fieldDoc{"A token that is sent as `Authorization: Bearer`.", "", "none"}),
		newField("events", seq[*[]string]("a list of events", oneOf("an event", strs(notify.Events())...)), func(t *target) *[]string { return &t.events }, fieldDoc{"Which notices go there.", "", "all"}),
		newField("template", noticeTemplate(), func(t *target) *string { return &t.template }, fieldDoc{"A template of the notice's text, or of the whole body for `webhook`.", "", "the usual text"}),
	), checkTarget)
}

// strs returns values as texts.
func strs[T ~string](values []T) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// targetName is the codec of the name of a target.
func targetName() codec[string] {
	f := upstreamName()
	f.schema.expected = "a name of lower-case letters, digits, '-', '.' and '_'"
	return f
}

// checkTarget reports fields that do not belong together.
func checkTarget(r *reader, n *node, t *target, s *schema) {
	checkRequired(r, n, t, s)
	u := n.field("url")
	switch {
	case t.kind == "":
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

// noticeURLs is the codec of a target's URL.
func noticeURLs() codec[noticeURL] {
	of := secrets()
	plain := checkedText("a URL such as https://ntfy.sh/topic, or "+of.schema.expected, `^https?://`, nil)
	return codec[noticeURL]{
		schema: &schema{expected: plain.schema.expected, AnyOf: []*schema{plain.schema, of.schema}},
		read: func(r *reader, n *node, to *noticeURL) bool {
			if n.kind != text {
				return of.read(r, n, &to.secret)
			}
			if err := notify.CheckURL(n.text); err != nil { // which does not repeat it
				r.hide(n)
				r.fail(n, "the URL %v", err)
				return false
			}
			to.url = n.text
			return true
		},
		show: func(a *noticeURL) *node {
			if a.url != "" {
				return plain.show(&a.url)
			}
			return of.show(&a.secret)
		},
	}
}

// noticeTemplate is the codec of a template.
func noticeTemplate() codec[string] {
	return scalar(&schema{expected: "a template such as ${title}: ${text}"}, func(s string) (string, error) {
		_, err := notify.Parse(s)
		return s, err
	}, itself)
}

// statusPage is the codec of a provider's status page.
func statusPage() codec[string] {
	return checkedText(orList(statusfeed.Names())+", or the URL of a summary.json", "", func(s string) bool { return statusfeed.URL(s) != "" })
}

// Notices returns who is told about outages, with all secrets. Its errors are [Errors], such as for a missing token.
func (c *Config) Notices(env func(string) string) (notify.Settings, error) {
	m := mapper{config: c, env: env}
	s := notify.Settings{After: c.notices.after, Feeds: map[string]string{}}
	if s.After == 0 {
		s.After = defaultAfter
	}
	s.Remind = defaultRemind
	setLimit(&s.Remind, c.notices.remind)
	for _, u := range c.all() {
		if u.value.statusPage != "" {
			s.Feeds[u.name] = statusfeed.URL(u.value.statusPage)
		}
	}
	for _, t := range c.notices.to {
		s.Targets = append(s.Targets, m.target(t.name, t.value))
	}
	if len(m.faults) > 0 {
		return notify.Settings{}, m.faults
	}
	return s, nil
}

// target returns a target with its secrets.
func (m *mapper) target(name string, t target) notify.Target {
	at := "notices.to." + name
	made := notify.Target{Name: name, Kind: notify.Kind(t.kind)}
	if t.token != (secret{}) {
		made.Token = m.secret(at+".token", "token", t.token)
	}
	switch {
	case t.url.url != "":
		made.URL = func() (string, error) { return t.url.url, nil }
	case t.url.secret != (secret{}):
		made.URL = m.noticeURL(at+".url", name, t.url.secret)
	}
	for _, e := range t.events {
		made.Events = append(made.Events, notify.Event(e))
	}
	if t.template != "" {
		made.Template, _ = notify.Parse(t.template) // it was checked when it was read
	}
	return made
}

// noticeURL returns what reads a target's URL.
func (m *mapper) noticeURL(path, name string, from secret) func() (string, error) {
	get := m.secret(path, "URL of "+name, from)
	if value, err := get(); err == nil && value != "" {
		if err := notify.CheckURL(value); err != nil {
			m.report(path, "URL of %s: it %v", name, err)
		}
	}
	return get
}
