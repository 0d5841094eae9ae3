package notify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Kind is a way to deliver a notice.
type Kind string

// The kinds of targets.
const (
	Webhook Kind = "webhook" // a POST of JSON
	Ntfy    Kind = "ntfy"    // a POST to a topic of ntfy.sh or a server of one's own
	Slack   Kind = "slack"   // an incoming webhook of Slack, Mattermost, Rocket.Chat or Discord (/slack)
	Desktop Kind = "desktop" // notify-send, or osascript on macOS
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Webhook, Ntfy, Slack, Desktop} }

// Target is a destination of notices.
type Target struct {
	Name     string
	Kind     Kind
	URL      func() (string, error) // nil for a desktop. It may be a secret, and is not logged
	Token    func() (string, error) // is sent as a bearer token; nil: none
	Events   []Event                // nil: all
	Template Template               // of the text, or of a webhook's whole body; "": the usual ones
}

// Settings are the targets, and when they get notices.
type Settings struct {
	Targets []Target
	After   time.Duration     // how long an outage lasts before its first notice
	Remind  time.Duration     // the time between notices during an outage; 0: no more
	Feeds   map[string]string // the addresses of providers' status pages, by upstream
}

func (t *Target) wants(n Notice) bool {
	return n.Event == Test || len(t.Events) == 0 || slices.Contains(t.Events, n.Event)
}

func (t *Target) text(n Notice) (string, error) {
	if t.Template == "" {
		return n.Text(), nil
	}
	return t.Template.fill(n)
}

// CheckURL returns an error if a target cannot have the URL. The error does not contain it.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("is no URL such as https://ntfy.sh/topic")
	case u.User != nil:
		return errors.New("has a user name or a password; use token")
	}
	return nil
}

// noticeJSON is a notice as the body of a webhook. Durations are in milliseconds.
type noticeJSON struct {
	Event         Event     `json:"event"`
	ID            string    `json:"id"`
	Title         string    `json:"title"`
	Text          string    `json:"text"`
	Upstream      string    `json:"upstream,omitzero"`
	Models        []string  `json:"models,omitzero"`
	Partial       bool      `json:"partial,omitzero"`
	Cause         string    `json:"cause,omitzero"`
	At            time.Time `json:"at"`
	Began         time.Time `json:"began,omitzero"`
	Ended         time.Time `json:"ended,omitzero"`
	Resets        time.Time `json:"resets,omitzero"`
	LastedMs      int64     `json:"lastedMs,omitzero"`
	Recovered     bool      `json:"recovered,omitzero"`
	Tries         int       `json:"tries,omitzero"`
	Failures      int       `json:"failures,omitzero"`
	FailedPercent int       `json:"failedPercent,omitzero"`
	Calls         int       `json:"calls,omitzero"`
	Held          int       `json:"held,omitzero"`
	Lost          int       `json:"lost,omitzero"`
	Waiting       int       `json:"waiting,omitzero"`
	Vendor        string    `json:"vendor,omitzero"`
	Host          string    `json:"host,omitzero"`
}

func (n Notice) form() noticeJSON {
	return noticeJSON{
		Event: n.Event, ID: n.ID, Title: n.Title(), Text: n.Text(), Upstream: n.Upstream, Models: n.Models, Partial: n.Partial, Cause: n.Cause,
		At: utc(n.At), Began: utc(n.Began), Ended: utc(n.Ended), Resets: utc(n.Resets), LastedMs: n.Lasted.Milliseconds(), Recovered: n.Recovered,
		Tries: n.Tries, Failures: n.Failures, FailedPercent: n.FailedPercent(), Calls: n.Calls, Held: n.Held, Lost: n.Lost, Waiting: n.Waiting(), Vendor: n.Vendor, Host: n.Host,
	}
}

// utc returns a time as JSON has it, to the millisecond.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

type message struct {
	body   []byte
	header map[string]string
}

func (t *Target) message(n Notice) (m message, err error) {
	if t.Kind == Webhook && t.Template == "" {
		m.body, err = json.Marshal(n.form())
		m.header = map[string]string{"Content-Type": "application/json"}
		return m, err
	}
	text, err := t.text(n)
	switch {
	case err != nil:
		return m, err
	case t.Kind == Webhook:
		m.header = map[string]string{"Content-Type": contentType(text)}
		m.body = []byte(text)
	case t.Kind == Slack:
		m.header = map[string]string{"Content-Type": "application/json"}
		m.body, err = json.Marshal(map[string]string{"text": "*" + slackText(n.Title()) + "*\n" + slackText(text)})
	default:
		m.header = map[string]string{"Content-Type": "text/plain; charset=utf-8", "Title": n.Title(), "Tags": tag(n.Event)}
		m.body = []byte(text)
	}
	return m, err
}

func contentType(body string) string {
	if json.Valid([]byte(body)) {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

func slackText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// tag returns ntfy's name of an emoji.
func tag(e Event) string {
	switch e {
	case Ended, Reset:
		return "white_check_mark"
	case Limit:
		return "hourglass"
	case Test:
		return "test_tube"
	}
	return "warning"
}

func (t *Target) describe() string { return fmt.Sprintf("%s (%s)", cmp.Or(t.Name, "unnamed"), t.Kind) }

// Template is a text in which ${title} stands for a field of a notice, and ${json title} for the field as JSON. The
// fields are those of a webhook's usual body.
type Template string

// Parse returns a template. The error names unknown fields.
func Parse(text string) (Template, error) {
	_, err := Template(text).fill(Notice{})
	return Template(text), err
}

func (t Template) fill(n Notice) (string, error) {
	var b strings.Builder
	rest := string(t)
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("${%s has no }", name)
		}
		value, err := n.field(name)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		rest = after
	}
}

func (n Notice) field(name string) (string, error) {
	bare, asJSON := strings.CutPrefix(name, "json ")
	fields := reflect.ValueOf(n.form())
	var names []string
	for i := range fields.NumField() {
		tag, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		names = append(names, tag)
	}
	i := slices.Index(names, strings.TrimSpace(bare))
	if i < 0 {
		return "", fmt.Errorf("a notice has no ${%s}; it has %s", name, strings.Join(names, ", "))
	}
	value := fields.Field(i).Interface()
	if asJSON {
		text, err := json.Marshal(value)
		return string(text), err
	}
	return words(value), nil
}

// words formats a value: names with commas, and nothing for an unknown time.
func words(value any) string {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ", ")
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.Format(time.RFC3339)
	}
	return fmt.Sprint(value)
}
