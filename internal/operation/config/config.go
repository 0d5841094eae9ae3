// Package config reads the configuration of the gateway: a YAML file with upstreams, keys, policies and
// limits, and the overrides from flags and the environment.
//
// The file is optional. All its mistakes are reported at once, with their lines, and a file with a mistake is
// not used. The tags of a struct describe its fields: the reader, the printer, the schema and the manual all
// follow them. The file does not contain keys, only where they are stored.
//
// It has many files because each part of the file has one.
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
)

// DefaultListen is the default address of the gateway.
const DefaultListen = "127.0.0.1:8484"

// DefaultFleet is the fleet of a gateway with NATS servers. NoFleet keeps it out of any.
const (
	DefaultFleet = "main"
	NoFleet      = "none"
)

// Config is a configuration: the values of the file, their overrides and the defaults.
type Config struct {
	_ struct{} `want:"the fields of a configuration"`

	File string // its path; "": no file

	Listen     string        `yaml:"listen" as:"address" doc:"The address to listen on. Port 0 picks a free port. An address that other machines can reach requires a token." default:"127.0.0.1:8484"`
	tls        keyPair       `yaml:"tls" doc:"The certificate of the gateway. With it, clients need https and may use HTTP/2." without:"no TLS"`
	token      secret        `yaml:"token" doc:"The token that clients must send, of 16 characters or more. Without this and tokens, every client that can reach the gateway may use it." without:"none, which only a loopback address permits"`
	tokens     string        `yaml:"tokens" want:"a path" doc:"A file with named tokens, each with scopes and an end, relative to the configuration file. ‘ridethrough token new’ makes them. It is read again when it changes." without:"no others than token"`
	Hosts      []string      `yaml:"hosts" list:"a list of host names" as:"host" doc:"The Host names that the gateway accepts, besides localhost and this machine's own addresses." without:"no others"`
	Origins    []string      `yaml:"origins" list:"a list of origins" as:"origin" doc:"The origins of web pages that may use the gateway and its API below /-/ from a browser, such as an app on another port." without:"no pages but the gateway's own, and those of installed apps with a scheme of their own"`
	policy     choice        `yaml:"policy" doc:"The retry policy of upstreams without a policy of their own. Without it, run is interactive and chat is attended." default:"patient"`
	maxWait    time.Duration `yaml:"max-wait" doc:"The longest total wait of a call or a turn, whatever its policy." without:"the limit of each policy"`
	quota      quota         `yaml:"quota" doc:"How to react to a spent usage window, such as the five hours of a subscription, if the provider says when it opens again. Accounts without credit and spend caps, which do not open by themselves, end a call at once. run and chat wait only with a quota in the file." without:"the defaults"`
	supervisor choice        `yaml:"supervisor" doc:"The policy by which a conversation's turn continues after its worker failed, for example because its process died. Waits for the provider do not count." default:"worker"`
	policies   []rule        `yaml:"policies" list:"policies by name" keys:"policy-name" doc:"Your own policies by name. A name begins with a letter." without:"only the presets"`
	upstreams  []upstream    `yaml:"upstreams" list:"upstreams by name" keys:"upstream-name" doc:"The providers by name: lower-case letters, digits, '-', '.' and '_'. Requests to /NAME/… go to that upstream, others to the first one with their API. These replace the defaults." without:"one for each API, at its public URL and named after the API"`
	mcp        []MCPServer   `yaml:"mcp" list:"MCP servers by name" keys:"short-name" doc:"The MCP servers by name, whose tools agents may use. A tool is named ‘mcp__SERVER__TOOL’." without:"none"`
	agents     []Agent       `yaml:"agents" list:"agents by name" keys:"short-name" doc:"The agents by name. A conversation that chooses one, and ‘run’ and ‘chat’ with ‘--agent’, have its tools. A name begins with a letter." without:"none, and conversations have no tools"`
	faults     string        `yaml:"faults" want:"a path" doc:"A file with your own readings of faults, relative to the configuration file. ‘ridethrough explain --wrong’ adds to it. It is read again when it changes." without:"faults.yaml beside the configuration, if it exists"`
	spool      spool         `yaml:"spool" doc:"The space for the bodies of requests, in memory and on disk." without:"the defaults"`
	receive    receive       `yaml:"receive" doc:"How slowly a client may send a body. One that is slower is rejected with status 408." without:"the defaults"`
	detached   detached      `yaml:"detached" doc:"Answers that the gateway reads to the end and keeps although the client has left, for when it sends the same request again. The provider charges for them even if the client does not come back." without:"off"`
	notices    notices       `yaml:"notices" doc:"Notices about outages and limits, by webhook, ntfy, Slack or on the desktop." without:"no notices"`
	Fleet      string        `yaml:"fleet" want:"1 to 40 letters, digits, - and _" pattern:"^[A-Za-z0-9_-]{1,40}$" doc:"The fleet of the gateway, with ‘--nats’: gateways with the same name act as one in an outage. ‘none’: it is on its own." without:"main"`
	Replicas   int           `yaml:"nats-replicas" want:"a number from 1 to 5" min:"1" max:"5" doc:"How many NATS servers have a copy of the conversations, with ‘--nats’. ‘--nats-replicas’ overrides it." without:"one on each server, up to 3"`
	Log        string        `yaml:"log" want:"a level" enum:"debug info warn error" doc:"The lowest level that is logged." default:"info"`

	defaultQuota policy.Quota // unless the file has one

	source source
	at     map[string]pos    // the position of each value in the file
	origin map[string]string // of overrides, by path: "--listen"
}

// Load reads and parses a file. Its errors are those of [Parse], or name the file.
func Load(name string) (Config, error) {
	data, err := readFile(name)
	if err != nil {
		return Config{}, err
	}
	return Parse(name, data)
}

// Parse parses the text of a file. Errors are [Errors] and contain name; relative paths in the text start at its
// directory. An empty text yields the defaults.
func Parse(name string, data []byte) (Config, error) {
	var c Config
	r := read(name, data, &c, "")
	c.File, c.source, c.at = name, r.source, r.at
	c.complete()
	r.faults = append(r.faults, c.checkReferences()...)
	if err := r.done(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// readFile returns the text of a file. Its errors name the file.
func readFile(name string) ([]byte, error) {
	data, err := readRegular(name)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, pathless(err))
	}
	return data, err
}

func byPosition(a, b *Error) int {
	return cmp.Or(a.Line-b.Line, a.Column-b.Column)
}

func (c *Config) complete() {
	c.Listen, c.Log = cmp.Or(c.Listen, DefaultListen), cmp.Or(c.Log, "info")
	c.policy, c.supervisor = cmp.Or(c.policy, choice{name: "patient"}), cmp.Or(c.supervisor, choice{name: "worker"})
	c.defaultQuota = DefaultQuota()
}

// Set overrides one of the fields listen, token, hosts, origins, policy, max-wait and log. origin is
// the source of the value, such as "--listen".
func (c *Config) Set(field, value, origin string) error {
	v := &node{kind: words, text: value}
	switch field {
	case "hosts", "origins":
		v = &node{kind: sequence}
		for name := range strings.SplitSeq(value, ",") {
			v.items = append(v.items, &node{kind: words, text: strings.TrimSpace(name)})
		}
	case "token": // the name of the variable
		v = &node{kind: mapping, entries: []entry{{&node{kind: words, text: "env"}, v}}}
	case "policy":
		return c.setPolicy(value, origin)
	}
	known, _ := formOf[Config]().field(field)
	set := reflect.New(known.Type).Elem()
	r := &reader{at: map[string]pos{}, hidden: map[int]int{}}
	if !r.value(known, v, set) {
		return errors.New(r.faults[0].Message)
	}
	known.of(reflect.ValueOf(c).Elem()).Set(set)
	c.mark(field, origin)
	return nil
}

func (c *Config) mark(path, origin string) {
	c.origin = maps.Clone(c.origin)
	if c.origin == nil {
		c.origin = map[string]string{}
	}
	c.origin[path] = origin
}

func (c *Config) setPolicy(value, origin string) error {
	set := choice{name: value}
	if !slices.Contains(c.policyNames(), value) {
		data, err := readRegular(value)
		if err != nil {
			return fmt.Errorf("unknown policy %q; want %s, or a file with a policy", value, text.Or(c.policyNames()))
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

// URL returns the address of the gateway for programs on its machine.
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

var logins = map[string]string{"chatgpt": "openai", "code-assist": "gemini"}

// LoginAPI returns the API of an upstream that only a login uses.
func LoginAPI(upstream string) string { return logins[upstream] }

// SetUpstream overrides the base URL of an upstream. It adds the upstream if its name is that of an API, or chatgpt
// or code-assist: Codex uses the first with the login of a ChatGPT account, Gemini CLI the second with that of a
// Google account.
func (c *Config) SetUpstream(name, base, origin string) error {
	u := c.named(name)
	if u.api == "" {
		u = upstream{name: name, api: logins[name]}
	}
	if u.api == "" {
		return fmt.Errorf("unknown upstream %q; want %s", name, text.Or(c.Upstreams()))
	}
	if _, err := parseBase(base); err != nil {
		return err
	}
	u.url = base
	c.put(u)
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

// all returns the upstreams of the file, or else one for each API with a public URL.
func (c *Config) all() []upstream {
	if len(c.upstreams) > 0 {
		return c.upstreams
	}
	var all []upstream
	for _, u := range gateway.Defaults() {
		all = append(all, upstream{name: u.Name, api: u.API})
	}
	return all
}

// path returns a function that makes paths absolute, relative to the file's directory, or with ~/ to the home
// directory.
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

// pollInterval is the interval between checks of a file. Polling also works with mounted directories and replaced
// links.
const pollInterval = time.Second

// Watch calls changed whenever the file has changed and then stayed the same for a
// second, and whenever asked receives a value. It returns when ctx ends.
func Watch[T any](ctx context.Context, name string, asked <-chan T, changed func()) {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	known := stateOf(name)
	before := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			known = stateOf(name)
			before = known
			changed()
		case <-t.C:
			now := stateOf(name)
			if !sameState(now, known) && sameState(now, before) {
				known = now
				changed()
			}
			before = now
		}
	}
}
