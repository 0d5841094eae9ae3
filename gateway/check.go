package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reservedNames are names that begin paths of the APIs.
var reservedNames = []string{"v1", "v1beta", "v1beta1", "v2", "api", "model", "projects"}

// ConfigError is a mistake in an upstream.
type ConfigError struct {
	Upstream string // its name
	Field    string // "fallback.0" or "routes.1.fallback.0" for a fallback, counted from 0; "": the upstream
	Err      error
}

// Error returns the mistake with the upstream's name.
func (e *ConfigError) Error() string { return fmt.Sprintf("upstream %q: %v", e.Upstream, e.Err) }

// Unwrap returns the mistake without the upstream's name.
func (e *ConfigError) Unwrap() error { return e.Err }

// Check returns everything that is wrong with a configuration, joined; nil: nothing. The joined errors are
// [*ConfigError]. New and Use refuse what it refuses.
func (c Config) Check() error {
	byName := make(map[string]*Upstream, len(c.Upstreams))
	var wrong []error
	for i := range c.Upstreams {
		u := &c.Upstreams[i]
		if byName[u.Name] != nil {
			wrong = append(wrong, &ConfigError{Upstream: u.Name, Err: errors.New("the name is used twice")})
		}
		byName[u.Name] = u
		for _, err := range u.check() {
			wrong = append(wrong, &ConfigError{Upstream: u.Name, Err: err})
		}
	}
	for i := range c.Upstreams {
		wrong = append(wrong, c.Upstreams[i].checkFallbacks(byName)...)
	}
	return errors.Join(wrong...)
}

// check checks one upstream by itself.
func (u *Upstream) check() []error {
	var wrong flaws
	if err := CheckName(u.Name); err != nil {
		wrong.say("want %w", err)
	}
	if apiOf(u.API) == nil {
		wrong.say("no API is named %q; known are %s", u.API, strings.Join(APIs(), ", "))
	}
	if !knownMode(u.Complete) || slices.ContainsFunc(u.Routes, func(r Route) bool { return !knownMode(r.Complete) }) {
		wrong.say("an answer is completed in no other mode than %v", CompleteModes())
	}
	if !knownAdmission(u.Admission) || slices.ContainsFunc(u.Routes, func(r Route) bool { return !knownAdmission(r.Admission) }) {
		wrong.say("requests are admitted in no other way than %v", Admissions())
	}
	if u.Base == nil && apiOf(u.API) != nil && apiOf(u.API).url == "" {
		wrong.say("the API %s has no public URL; want the one of your resource, such as https://NAME.openai.azure.com", u.API)
	}
	if u.Base != nil {
		if err := CheckBase(u.Base); err != nil {
			wrong.say("%w", err)
		}
	}
	if err := u.Network.Check(u.baseURL()); err != nil {
		wrong.say("%w", err)
	}
	if u.Key != nil && u.NoKey || u.Sign != nil && (u.Key != nil || u.NoKey) {
		wrong.say("Key, NoKey and Sign exclude each other")
	}
	if u.Limits.negative() {
		wrong.say("a bound is negative")
	}
	for _, r := range u.Routes {
		if r.Limits.negative() {
			wrong.say("a bound is negative")
		}
		for _, pattern := range r.Models {
			if _, err := path.Match(pattern, ""); err != nil {
				wrong.say("the pattern %q of a model is malformed", pattern)
			}
		}
	}
	return wrong
}

// flaws are what is wrong with a configuration.
type flaws []error

func (f *flaws) say(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// knownMode reports whether a mode is one, or the default.
func knownMode(m CompleteMode) bool { return m == "" || slices.Contains(CompleteModes(), m) }

func knownAdmission(a Admission) bool { return a == "" || slices.Contains(Admissions(), a) }

// CheckName returns what the name of an upstream must be; nil: it is that.
func CheckName(name string) error {
	if validName(name) && !slices.Contains(reservedNames, name) {
		return nil
	}
	last := len(reservedNames) - 1
	return fmt.Errorf("a name of lower-case letters, digits, '-', '.' and '_' that begins with a letter and is none of %s and %s",
		strings.Join(reservedNames[:last], ", "), reservedNames[last])
}

// validName reports whether a name can stand at the front of a path.
func validName(name string) bool {
	for i, c := range name {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-._", c)) {
			return false
		}
	}
	return name != ""
}

// CheckBase returns what is wrong with the base URL of an upstream; nil:
// nothing. The error does not repeat the URL, which may hold a password or a key.
func CheckBase(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("want a base URL with http:// or https:// and a host, such as http://127.0.0.1:8485")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("a base URL has no user, query or fragment; credentials are the client's, or a key of the upstream")
	case asksForAnswer(u.Path):
		return fmt.Errorf("%s is an endpoint; want the base URL before it", u.Path)
	}
	return nil
}

// negative reports whether a limit is below zero.
func (l *Limits) negative() bool {
	return l != nil && (min(l.Connect, l.FirstByte, l.Content, l.Idle) < 0 || l.Body < 0)
}

// checkFallbacks checks every list of fallbacks of an upstream.
func (u *Upstream) checkFallbacks(byName map[string]*Upstream) []error {
	wrong := u.checkChain("fallback", u.Fallback, nil, byName)
	for i, r := range u.Routes {
		wrong = append(wrong, u.checkChain(fmt.Sprintf("routes.%d.fallback", i), r.Fallback, r.Models, byName)...)
	}
	return wrong
}

// checkChain checks one list of fallbacks, which is at this field, for requests of these models. A request follows the
// list of the upstream that it is for, and no other: that two upstreams name each other is no circle.
func (u *Upstream) checkChain(field string, chain []Fallback, models []string, byName map[string]*Upstream) (wrong []error) {
	type target struct{ to, model string }
	again := map[target]string{{u.Name, ""}: "it is the upstream itself; name another model, as in {to: " + u.Name + ", model: NAME}"}
	if len(models) == 1 {
		again[target{u.Name, models[0]}] = "it is the model that the route is for; name another model or another upstream"
	}
	for i, f := range chain {
		at := target{f.To, f.Model}
		if err := u.checkFallback(f, byName[f.To], again[at]); err != nil {
			wrong = append(wrong, &ConfigError{u.Name, fmt.Sprintf("%s.%d", field, i), fmt.Errorf("fallback to %q: %w", f.To, err)})
		}
		again[at] = cmp.Or(again[at], "it is in the list already; name another upstream or another model")
	}
	return wrong
}

// modelBound is the length of the longest name of a model.
const modelBound = 256

// isModelName reports whether a text can be the name of a model.
func isModelName(s string) bool {
	return len(s) <= modelBound && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// checkFallback checks one fallback of a list. A credential belongs to one
// upstream: the client's is not sent to another host. again says why the request has been there before; "": it has not.
func (u *Upstream) checkFallback(f Fallback, to *Upstream, again string) error {
	switch {
	case to == nil:
		return errors.New("no upstream has that name")
	case again != "":
		return errors.New(again)
	case !isModelName(f.Model):
		return errors.New("its model is no name: too long, or with line breaks or other control characters")
	case f.After < 0:
		return errors.New("its time is negative")
	case !shareDialect(u.API, to.API):
		return fmt.Errorf("its API %s answers no request of %s", to.API, u.API)
	case to.Key == nil && to.Sign == nil && !to.NoKey && !sameHost(u, to):
		return errors.New("it needs a key of its own, or none: the client's is for another host")
	}
	return nil
}

// sameHost reports whether two upstreams have the same scheme, host and port.
func sameHost(a, b *Upstream) bool {
	x, y := a.baseURL(), b.baseURL()
	return x.Scheme == y.Scheme && x.Host == y.Host
}

// baseURL returns the base URL of an upstream; empty if its API is unknown.
func (u *Upstream) baseURL() *url.URL {
	if u.Base != nil || apiOf(u.API) == nil {
		return orEmpty(u.Base)
	}
	return orEmpty(apiOf(u.API).publicURL())
}

func orEmpty(u *url.URL) *url.URL {
	if u == nil {
		return &url.URL{}
	}
	return u
}
