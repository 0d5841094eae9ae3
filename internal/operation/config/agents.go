package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// Agents ask the same upstreams as the gateway: those of the file, and those that are named like an API. They
// have no client whose credentials pass through. In place of these they take what the variables of a provider's
// own tools say, such as ANTHROPIC_API_KEY.

// Provider is the configuration in the variables of a provider's own tools.
type Provider struct {
	Name             string // of the API, which an upstream may be named after
	Base             string // the base URL; "": not set
	BaseFrom, KeyEnv string // the variables of the base URL and of the credential; "": not set
}

// SetProvider overrides the upstream that is named like a provider. An address and its key stay together. The
// file's key and connection settings do not apply to an address of the environment, and a key of the environment
// does not replace the file's where the file also has an address. A flag or a RIDETHROUGH_UPSTREAM variable for the
// address has priority.
func (c *Config) SetProvider(p Provider) {
	path := "upstreams." + p.Name
	moved := p.Base != "" && c.origin[path+".url"] == ""
	if !moved && p.KeyEnv == "" {
		return
	}
	u := c.named(p.Name)
	if u.api != p.Name {
		return // the name is of another API's upstream
	}
	if moved {
		if !sameAddress(u.url, p.Base) {
			u.key, u.ca, u.proxy, u.http2 = key{}, "", "", ""
			for _, field := range []string{".key", ".ca", ".proxy", ".http2"} {
				c.mark(path+field, p.BaseFrom)
			}
		}
		u.url = p.Base
		c.mark(path+".url", p.BaseFrom)
	}
	if p.KeyEnv != "" && (u.key == (key{}) || u.url == "") && !u.key.none() {
		u.key = key{secret: secret{env: p.KeyEnv}}
		c.mark(path+".key", p.KeyEnv)
	}
	c.put(u)
}

func sameAddress(a, b string) bool {
	x, err := url.Parse(a)
	y, wrong := url.Parse(b)
	return err == nil && wrong == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// named returns the upstream of a name, the default upstream of the API with that name, or else the zero upstream.
func (c *Config) named(name string) upstream {
	for _, u := range c.all() {
		if u.name == name {
			return u
		}
	}
	if slices.Contains(gateway.APIs(), name) {
		return upstream{name: name, api: name}
	}
	return upstream{}
}

func (c *Config) put(u upstream) {
	c.upstreams = slices.Clone(c.all())
	if i := slices.IndexFunc(c.upstreams, func(known upstream) bool { return known.name == u.name }); i >= 0 {
		c.upstreams[i] = u
	} else {
		c.upstreams = append(c.upstreams, u)
	}
}

// Overridden returns the origin of a value that does not come from the file, such as "--policy", or "".
func (c *Config) Overridden(path string) string { return c.origin[path] }

// SameAddress reports whether an upstream has the same API and address in another configuration.
func (c *Config) SameAddress(name string, other *Config) bool {
	u := c.named(name)
	o := other.named(name)
	return u.api == o.api && (u.url == o.url || sameAddress(u.url, o.url))
}

// First returns the name of the first upstream with an API, which gets requests that name no upstream.
func (c *Config) First(api string) string {
	for _, u := range c.all() {
		if u.api == api {
			return u.name
		}
	}
	return api
}

// API returns the API of the upstream of a name, or "".
func (c *Config) API(name string) string {
	u := c.named(name)
	return u.api
}

// Upstream returns the upstream of a name, or the default one of the API with that name. An unreadable key is an
// error of its Key. Other errors are [Errors].
func (c *Config) Upstream(name string, env func(string) string) (gateway.Upstream, error) {
	u := c.named(name)
	m := mapper{config: c, env: env}
	from := u.key.secret
	u.key.secret = secret{}
	made := m.upstream(u)
	if from != (secret{}) {
		get, err := from.open(c.path(env), env)
		made.Key = func() (string, error) {
			value, failed := get()
			return value, cmp.Or(err, failed)
		}
	}
	if len(m.faults) > 0 {
		return gateway.Upstream{}, m.faults
	}
	return made, nil
}

// UseDefault sets the policy where the file names none. Without a quota in the file, that policy decides how to
// wait for a spent usage window.
func (c *Config) UseDefault(preset, origin string) {
	c.defaultQuota = policy.Quota{}
	if _, ok := c.at["policy"]; !ok && c.origin["policy"] == "" {
		c.policy = choice{name: preset}
		c.mark("policy", origin)
	}
}

// UseMaxWait sets the longest wait of all unless it is already set.
func (c *Config) UseMaxWait(limit time.Duration, origin string) {
	if _, ok := c.at["max-wait"]; !ok && c.origin["max-wait"] == "" {
		c.maxWait = limit
		c.mark("max-wait", origin)
	}
}

// UseOnePolicy applies the policy also to upstreams and routes that have their own.
func (c *Config) UseOnePolicy() {
	c.upstreams = slices.Clone(c.upstreams)
	for i := range c.upstreams {
		path, u := "upstreams."+c.upstreams[i].name, &c.upstreams[i]
		u.policy, u.routes = choice{}, slices.Clone(u.routes)
		c.mark(path+".policy", c.origin["policy"])
		for j := range u.routes {
			u.routes[j].policy = choice{}
			c.mark(fmt.Sprintf("%s.routes.%d.policy", path, j), c.origin["policy"])
		}
	}
}
