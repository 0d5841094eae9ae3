package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/reload"
	"github.com/ridethrough/ridethrough/policy"
)

// Gateway returns the configuration of the gateway, with all keys. Its errors are
// [Errors], such as for a missing key or a fallback with another API.
func (c *Config) Gateway(env func(string) string) (gateway.Config, error) {
	m := mapper{config: c, env: env}
	made := gateway.Config{
		Policy: c.Retry(), Receive: c.receive.over(gateway.DefaultReceive()),
		Detached: c.detached.gateway(),
		Spool:    gateway.Spool{Memory: c.spool.memory, Disk: c.spool.disk},
	}
	if c.spool.dir != "" {
		made.Spool.Dir = m.folder("spool.dir", c.spool.dir)
	}
	for _, u := range c.all() {
		made.Upstreams = append(made.Upstreams, m.upstream(u.name, u.value))
	}
	m.checkTools()
	if len(m.faults) == 0 {
		m.check(made)
	}
	if len(m.faults) > 0 {
		slices.SortStableFunc(m.faults, byPosition)
		return gateway.Config{}, m.faults
	}
	return made, nil
}

// Token returns the token that clients must send; "": none.
func (c *Config) Token(env func(string) string) (string, error) {
	if c.token == (secret{}) {
		return "", nil
	}
	get, err := c.token.open(c.path(env), env)
	token := ""
	if err == nil {
		token, err = get()
	}
	if err == nil && len(token) < access.MinLength {
		err = fmt.Errorf("the token has %d characters and could be guessed; want at least %d, such as from ridethrough token new", len(token), access.MinLength)
	}
	switch {
	case err == nil:
		return token, nil
	case c.origin["token"] != "":
		return "", err // it does not come from the file
	}
	return "", Errors{c.source.fault(c.at["token"], "%v", err)}
}

// mapper converts a configuration into the gateway's.
type mapper struct {
	config *Config
	env    func(string) string
	faults Errors
}

func (m *mapper) report(path, format string, args ...any) {
	m.faults = append(m.faults, m.config.source.fault(m.config.at[path], format, args...))
}

// folder returns the absolute path of a directory, which must exist.
func (m *mapper) folder(path, name string) string {
	name = m.config.path(m.env)(name)
	info, err := os.Stat(name)
	switch {
	case err != nil:
		m.report(path, "directory %s: %v", name, reload.Pathless(err))
	case !info.IsDir():
		m.report(path, "%s is not a directory", name)
	}
	return name
}

// file returns the text of a file; "": none is named.
func (m *mapper) file(path, name string) string {
	if name == "" {
		return ""
	}
	name = m.config.path(m.env)(name)
	text, err := os.ReadFile(name)
	if err != nil {
		m.report(path, "%s: %v", name, reload.Pathless(err))
	}
	return string(text)
}

// secret returns what returns the current value of a secret.
func (m *mapper) secret(path, what string, from secret) func() (string, error) {
	get, err := from.open(m.config.path(m.env), m.env)
	if err != nil {
		m.report(path, "%s: %v", what, err)
	}
	return get
}

func (m *mapper) upstream(name string, u upstream) gateway.Upstream {
	made := gateway.Upstream{
		Name: name, API: u.api, NoKey: u.key.none, Body: u.body, Socket: gateway.SocketMode(u.socket),
		Complete: gateway.CompleteMode(u.complete), Background: gateway.BackgroundMode(u.background), Admission: gateway.Admission(u.admission), Reserve: u.reserve,
		Network: gateway.Network{CA: m.file("upstreams."+name+".ca", u.ca), Proxy: u.proxy, HTTP2: u.http2 == priorKnowledge},
		Policy:  m.config.policyOf(u.policy, u.quota), Limits: u.limits.over(gateway.DefaultLimits()), Fallback: gatewayFallbacks(u.fallback),
	}
	if u.url != "" {
		made.Base, _ = parseBase(u.url) // it was checked when it was read
	}
	if u.key.env != "" || u.key.file != "" {
		made.Key = m.secret("upstreams."+name+".key", "key of "+name, u.key)
	}
	m.aws(&made, u)
	for _, t := range u.routes {
		made.Routes = append(made.Routes, gateway.Route{
			Models: t.models, Policy: m.routePolicy(u, t), Limits: t.limits.over(*made.Limits), Fallback: gatewayFallbacks(t.fallback),
			Complete: gateway.CompleteMode(t.complete), Background: gateway.BackgroundMode(t.background), Admission: gateway.Admission(t.admission), Reserve: t.reserve,
		})
	}
	return made
}

// over returns other with the limits that the file sets.
func (l limits) over(other gateway.Limits) *gateway.Limits {
	setLimit(&other.Connect, l.connect)
	switch l.firstByte {
	case 0:
	case learned:
		other.FirstByte, other.Learned = gateway.DefaultLimits().FirstByte, true
	default:
		setLimit(&other.FirstByte, l.firstByte)
		other.Learned = false
	}
	setLimit(&other.Idle, l.idle)
	return &other
}

// setLimit sets a limit of the gateway to what the file has, if it has one.
func setLimit(d *time.Duration, to time.Duration) {
	switch to {
	case 0:
	case noLimit:
		*d = 0
	default:
		*d = to
	}
}

func gatewayFallbacks(chain []fallback) (made []gateway.Fallback) {
	for _, f := range chain {
		made = append(made, gateway.Fallback{To: f.to, Model: f.model, After: f.after, Kinds: f.immediatelyOn})
	}
	return made
}

// routePolicy returns the policy of an upstream's route; nil: the upstream's.
func (m *mapper) routePolicy(u upstream, t route) *policy.Policy {
	if t.policy == (choice{}) && t.quota == (quota{}) {
		return nil
	}
	if t.policy == (choice{}) {
		t.policy = u.policy
	}
	return m.config.policyOf(t.policy, t.quota.over(u.quota))
}

// policyOf returns the chosen policy with its quota; nil: the default one.
func (c *Config) policyOf(chosen choice, q quota) *policy.Policy {
	switch {
	case chosen == (choice{}) && q == (quota{}):
		return nil
	case chosen == (choice{}):
		chosen = c.policy
	}
	p := c.resolve(chosen)
	p.Quota = c.quotaOf(q)
	return &p
}

// Retry returns the default policy.
func (c *Config) Retry() policy.Policy {
	p := c.resolve(c.policy)
	p.Quota = c.quotaOf(quota{})
	return p
}

// Supervisor returns the policy by which turns are taken up again after their workers failed.
func (c *Config) Supervisor() policy.Policy { return c.resolve(c.supervisor) }

// Named returns a preset or a named policy of the file; "": the default policy.
func (c *Config) Named(name string) (policy.Policy, error) {
	switch {
	case name == "":
		return c.Retry(), nil
	case !slices.Contains(c.policyNames(), name):
		return policy.Policy{}, fmt.Errorf("unknown policy %q; want %s", name, orList(c.policyNames()))
	}
	p := c.resolve(choice{name: name})
	p.Quota = c.quotaOf(quota{})
	return p, nil
}

// resolve returns the chosen policy.
func (c *Config) resolve(chosen choice) policy.Policy {
	if chosen.own != nil {
		return chosen.own.Policy
	}
	for _, own := range c.policies {
		if own.name == chosen.name {
			return own.value.Policy
		}
	}
	p, _ := policy.Preset(chosen.name)
	return p
}

// check reports the gateway's errors at the positions of their upstreams or fallbacks.
func (m *mapper) check(made gateway.Config) {
	joined, ok := made.Check().(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range joined.Unwrap() {
		path := "upstreams"
		if e, ok := errors.AsType[*gateway.ConfigError](err); ok {
			path += "." + e.Upstream
			if e.Field != "" {
				path += "." + e.Field + ".to"
			}
		}
		m.report(path, "%v", err)
	}
}

// parseBase parses the base URL of an upstream. Its errors do not contain the URL,
// which may contain a password or a key.
func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		u = &url.URL{}
	}
	return u, gateway.CheckBase(u)
}

// defaultURL returns the default base URL of an API.
func defaultURL(api string) string {
	for _, u := range gateway.Defaults() {
		if u.API == api {
			return u.Base.String()
		}
	}
	return ""
}

// isLoopback reports whether a host is localhost or a loopback address.
func isLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
