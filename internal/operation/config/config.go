// Package config reads the configuration of the gateway: a YAML file with upstreams, keys, policies and
// limits, and the overrides from flags and the environment.
//
// The file is optional. All its mistakes are reported at once, with their lines, and a file with a mistake is
// not used. Each field is described once, by a codec that reads it, shows it, and yields its schema and its
// part of the manual. The file does not contain keys, only where they are stored.
//
// It has many files because each part of the file has its fields and codecs in a file of its own.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/reload"
	"github.com/ridethrough/ridethrough/policy"
)

// DefaultListen is the default address of the gateway.
const DefaultListen = "127.0.0.1:8484"

// DefaultFleet is the fleet of a gateway with NATS servers, and NoFleet keeps it out of any.
const (
	DefaultFleet = "main"
	NoFleet      = "none"
)

// Config is a configuration: the values of the file, their overrides and the defaults.
type Config struct {
	File    string   // its path; "": no file
	Listen  string   // HOST:PORT
	Hosts   []string // accepted Host names, besides this machine's own
	Origins []string // of web pages that may use the gateway, besides its own
	Log     string   // debug, info, warn or error

	Fleet    string // of the gateways that share outages, with NATS servers; "": DefaultFleet, NoFleet: none
	Replicas int    // of conversations on NATS servers; 0: one on each server, up to 3

	token      secret
	tls        keyPair
	tokens     string // the path of a file
	policy     choice
	quota      quota
	supervisor choice
	policies   names[rule]
	upstreams  names[upstream] // none: one for each API
	mcp        names[mcpFields]
	agents     names[agentFields]
	faults     string // the path of a file
	spool      spool
	receive    receive
	detached   detached
	notices    notices

	defaultQuota policy.Quota // where the file has none

	source source
	at     map[string]pos    // the position of each value in the file
	origin map[string]string // of overrides, by path: "--listen"
}

// Load reads and parses a file. Its errors are those of [Parse], or name the file.
func Load(name string) (Config, error) {
	data, err := reload.ReadFile(name)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", name, reload.Pathless(err))
	}
	return Parse(name, data)
}

// Parse parses the text of a file. Errors are [Errors] and contain name; relative
// paths in the text start at its directory. An empty text has the defaults.
func Parse(name string, data []byte) (Config, error) {
	src, data := sourceOf(name, data)
	var c Config
	r := read(src, data, file(), &c)
	c.File, c.source, c.at = name, src, r.at
	c.complete()
	if r.faults = append(r.faults, c.checkReferences()...); len(r.faults) > 0 {
		return Config{}, r.done()
	}
	return c, nil
}

// sourceOf returns the source of a file, and its bytes without a byte order mark.
func sourceOf(name string, data []byte) (source, []byte) {
	text := strings.TrimPrefix(string(data), "\uFEFF")
	return source{name, strings.Split(text, "\n")}, []byte(text)
}

// byPosition compares errors by their positions.
func byPosition(a, b *Error) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

// complete fills in the defaults.
func (c *Config) complete() {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Log == "" {
		c.Log = "info"
	}
	if c.policy == (choice{}) {
		c.policy.name = "patient"
	}
	c.defaultQuota = DefaultQuota()
	if c.supervisor == (choice{}) {
		c.supervisor.name = "worker"
	}
}

// Set overrides one of the fields listen, token, hosts, origins, policy and log. origin is
// the source of the value, such as "--listen".
func (c *Config) Set(field, value, origin string) error {
	v := &node{kind: text, text: value}
	switch field {
	case "hosts", "origins":
		v = &node{kind: sequence}
		for name := range strings.SplitSeq(value, ",") {
			v.items = append(v.items, &node{kind: text, text: strings.TrimSpace(name)})
		}
	case "token": // the name of the variable
		v = &node{kind: mapping, entries: []entry{{&node{kind: text, text: "env"}, v}}}
	case "policy":
		return c.setPolicy(value, origin)
	}
	r := &reader{at: map[string]pos{}}
	keep := func(_ *reader, _ *node, set *Config) { *set = *c }
	plain := object(&schema{}, keep, slices.Concat(serving(), keeping())...) // what asking has is no override, and most of a file
	var set Config
	if !plain.read(r, &node{kind: mapping, entries: []entry{{&node{kind: text, text: field}, v}}}, &set) {
		return errors.New(r.faults[0].Message)
	}
	*c = set
	c.mark(field, origin)
	return nil
}

// mark records the origin of an override.
func (c *Config) mark(path, origin string) {
	c.origin = maps.Clone(c.origin)
	if c.origin == nil {
		c.origin = map[string]string{}
	}
	c.origin[path] = origin
}

// setPolicy overrides the policy with a named one, or one from a file.
func (c *Config) setPolicy(value, origin string) error {
	set := choice{name: value}
	if !slices.Contains(c.policyNames(), value) {
		data, err := reload.ReadFile(value)
		if err != nil {
			return fmt.Errorf("unknown policy %q; want %s, or a file with a policy", value, orList(c.policyNames()))
		}
		own, err := parseRule(value, data)
		if err != nil {
			return err
		}
		set = choice{own: &own}
	}
	c.policy = set
	c.mark("policy", origin)
	return nil
}

// policyNames returns the names of all named policies.
func (c *Config) policyNames() []string {
	names := append(policy.Presets(), noRetries)
	for _, p := range c.policies {
		names = append(names, p.name)
	}
	return names
}

// Policy returns the name of the default policy; "own" if it has no name.
func (c *Config) Policy() string {
	if c.policy.own != nil {
		return "own"
	}
	return c.policy.name
}

// URL returns the address at which programs on the gateway's machine reach it.
func (c *Config) URL() string {
	host, port, _ := net.SplitHostPort(cmp.Or(c.Listen, DefaultListen))
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http://"
	if c.HasTLS() {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}

// logins are the APIs of upstreams that only a login uses.
var logins = map[string]string{"chatgpt": "openai", "code-assist": "gemini"}

// LoginAPI returns the API of an upstream that only a login uses.
func LoginAPI(upstream string) string { return logins[upstream] }

// SetUpstream overrides the base URL of an upstream, or adds the upstream if its name is that of an API, or chatgpt or
// code-assist: there Codex goes with the login of a ChatGPT account, and Gemini CLI with that of a Google account.
func (c *Config) SetUpstream(name, base, origin string) error {
	if !slices.Contains(c.Upstreams(), name) {
		api := logins[name]
		if slices.Contains(gateway.APIs(), name) {
			api = name
		}
		if api == "" {
			return fmt.Errorf("unknown upstream %q; want %s", name, orList(c.Upstreams()))
		}
		c.upstreams = append(slices.Clip(c.all()), named[upstream]{name, upstream{api: api}})
	}
	if _, err := parseBase(base); err != nil {
		return err
	}
	c.upstreams = slices.Clone(c.all())
	i := slices.IndexFunc(c.upstreams, func(u named[upstream]) bool { return u.name == name })
	c.upstreams[i].value.url = base
	c.mark("upstreams."+name+".url", origin)
	return nil
}

// Upstreams returns the names of the upstreams.
func (c *Config) Upstreams() []string {
	var names []string
	for _, u := range c.all() {
		names = append(names, u.name)
	}
	return names
}

// all returns the upstreams: those of the file, or else one for each API with a public URL.
func (c *Config) all() names[upstream] {
	if len(c.upstreams) > 0 {
		return c.upstreams
	}
	var all names[upstream]
	for _, u := range gateway.Defaults() {
		all = append(all, named[upstream]{u.Name, upstream{api: u.API}})
	}
	return all
}

// path returns a function that makes paths absolute. They start at the directory
// of the file, or with ~/ at the home directory.
func (c *Config) path(env func(string) string) func(string) string {
	return func(p string) string {
		if rest, ok := strings.CutPrefix(p, "~/"); ok && env("HOME") != "" {
			return filepath.Join(env("HOME"), rest)
		}
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(filepath.Dir(c.source.name), p)
	}
}
