package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// Agents ask the same upstreams as the gateway: those of the file, and those that are named like an API. They
// have no client whose credentials pass through. In place of these they take what the variables of a provider's
// own tools say, such as ANTHROPIC_API_KEY.

// Provider is what the variables of a provider's own tools say.
type Provider struct {
	Name             string // of the API, which an upstream may be named after
	Base             string // the base URL; "": not set
	BaseFrom, KeyEnv string // the variables of the base URL and of the credential; "": not set
}

// SetProvider overrides the upstream that is named like a provider. An address and its key stay together: the
// file's key, and how the file's address is reached, do not hold for an address of the environment, and its key
// does not replace the file's where the file names an address too. A flag or a RIDETHROUGH_UPSTREAM variable
// for the address comes first.
func (c *Config) SetProvider(p Provider) {
	path := "upstreams." + p.Name
	moved := p.Base != "" && c.origin[path+".url"] == ""
	if !moved && p.KeyEnv == "" {
		return
	}
	u, known := c.named(p.Name)
	if u.api != p.Name {
		return // the name is of another API's upstream
	}
	if moved {
		if !sameAddress(u.url, p.Base) {
			u.key, u.ca, u.proxy, u.http2 = secret{}, "", "", ""
			for _, field := range []string{".key", ".ca", ".proxy", ".http2"} {
				c.mark(path+field, p.BaseFrom)
			}
		}
		u.url = p.Base
		c.mark(path+".url", p.BaseFrom)
	}
	if p.KeyEnv != "" && (u.key == (secret{}) || u.url == "") && !u.key.none {
		u.key = secret{env: p.KeyEnv}
		c.mark(path+".key", p.KeyEnv)
	}
	c.upstreams = slices.Clone(c.all())
	if !known {
		c.upstreams = append(c.upstreams, named[upstream]{name: p.Name})
	}
	i := slices.IndexFunc(c.upstreams, func(u named[upstream]) bool { return u.name == p.Name })
	c.upstreams[i].value = u
}

// sameAddress reports whether two base URLs are of one host.
func sameAddress(a, b string) bool {
	x, err := url.Parse(a)
	y, wrong := url.Parse(b)
	return err == nil && wrong == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// named returns the upstream of a name; false: it is the default one of the API with that name, or none.
func (c *Config) named(name string) (upstream, bool) {
	for _, u := range c.all() {
		if u.name == name {
			return u.value, true
		}
	}
	if slices.Contains(gateway.APIs(), name) {
		return upstream{api: name}, false
	}
	return upstream{}, false
}

// Overridden returns the origin of a value that does not come from the file, such as "--policy"; "": it does.
func (c *Config) Overridden(path string) string { return c.origin[path] }

// First returns the name of the first upstream with an API, which takes what names no upstream.
func (c *Config) First(api string) string {
	for _, u := range c.all() {
		if u.value.api == api {
			return u.name
		}
	}
	return api
}

// API returns the API of the upstream of a name; "": there is none.
func (c *Config) API(name string) string {
	u, _ := c.named(name)
	return u.api
}

// Upstream returns the upstream of a name, or the default one of the API with that name. A key that cannot be
// read is an error of its Key. Other errors are [Errors].
func (c *Config) Upstream(name string, env func(string) string) (gateway.Upstream, error) {
	u, _ := c.named(name)
	m := mapper{config: c, env: env}
	key := u.key
	u.key = secret{none: key.none}
	made := m.upstream(name, u)
	if key.env != "" || key.file != "" {
		get, err := key.open(c.path(env), env)
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

// UseDefault sets the policy of a file that names none. Without a quota in the file, a spent usage window is waited
// for as that policy says.
func (c *Config) UseDefault(preset, origin string) {
	c.defaultQuota = policy.Quota{}
	if _, ok := c.at["policy"]; !ok && c.origin["policy"] == "" {
		c.policy = choice{name: preset}
		c.mark("policy", origin)
	}
}

// UseOnePolicy lets the policy hold for upstreams and routes with one of their own, too.
func (c *Config) UseOnePolicy() {
	c.upstreams = slices.Clone(c.upstreams)
	for i := range c.upstreams {
		path, u := "upstreams."+c.upstreams[i].name, &c.upstreams[i].value
		u.policy, u.routes = choice{}, slices.Clone(u.routes)
		c.mark(path+".policy", c.origin["policy"])
		for j := range u.routes {
			u.routes[j].policy = choice{}
			c.mark(fmt.Sprintf("%s.routes.%d.policy", path, j), c.origin["policy"])
		}
	}
}
