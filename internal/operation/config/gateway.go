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
	"github.com/ridethrough/ridethrough/internal/text"
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
		made.Upstreams = append(made.Upstreams, m.upstream(u))
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

// Token returns the token that clients must send, or "".
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

type mapper struct {
	config *Config
	env    func(string) string
	faults Errors
}

func (m *mapper) report(path, format string, args ...any) {
	m.faults = append(m.faults, m.config.source.fault(m.config.at[path], format, args...))
}

func (m *mapper) folder(path, name string) string {
	name = m.config.path(m.env)(name)
	info, err := os.Stat(name)
	switch {
	case err != nil:
		m.report(path, "directory %s: %v", name, pathless(err))
	case !info.IsDir():
		m.report(path, "%s is not a directory", name)
	}
	return name
}

// file returns the text of a file; "" if no file is named.
func (m *mapper) file(path, name string) string {
	if name == "" {
		return ""
	}
	name = m.config.path(m.env)(name)
	text, err := os.ReadFile(name)
	if err != nil {
		m.report(path, "%s: %v", name, pathless(err))
	}
	return string(text)
}

func (m *mapper) secret(path, what string, from secret) func() (string, error) {
	get, err := from.open(m.config.path(m.env), m.env)
	if err != nil {
		m.report(path, "%s: %v", what, err)
	}
	return get
}

func (m *mapper) upstream(u upstream) gateway.Upstream {
	name := u.name
	made := gateway.Upstream{
		Name: name, API: u.api, NoKey: u.key.none(), NoSocket: u.socket == "426",
		Complete: gateway.CompleteMode(u.complete), Admission: gateway.Admission(u.admission), Reserve: u.reserve,
		Network: gateway.Network{CA: m.file("upstreams."+name+".ca", u.ca), Proxy: u.proxy, HTTP2: u.http2 == priorKnowledge},
		Policy:  m.config.policyOf(u.policy, u.quota), Limits: u.limits.over(gateway.DefaultLimits()), Fallback: gatewayFallbacks(u.fallback),
	}
	made.Limits.Body = u.body
	if u.url != "" {
		made.Base, _ = parseBase(u.url) // it was checked when it was read
	}
	if u.key.secret != (secret{}) {
		made.Key = m.secret("upstreams."+name+".key", "key of "+name, u.key.secret)
	}
	m.aws(&made, u)
	for _, t := range u.routes {
		made.Routes = append(made.Routes, gateway.Route{
			Models: t.models, Policy: m.routePolicy(u, t), Limits: t.limits.over(*made.Limits), Fallback: gatewayFallbacks(t.fallback),
			Complete: gateway.CompleteMode(t.complete), Admission: gateway.Admission(t.admission), Reserve: t.reserve,
		})
	}
	return made
}

// over returns other with the limits that the file sets.
func (l limits) over(other gateway.Limits) *gateway.Limits {
	setLimit(&other.Connect, l.connect)
	switch {
	case l.firstByte.word == "learned":
		other.FirstByte, other.Learned = gateway.DefaultLimits().FirstByte, true
	case l.firstByte != limit{}:
		setLimit(&other.FirstByte, l.firstByte)
		other.Learned = false
	}
	switch {
	case l.content != limit{}:
		setLimit(&other.Content, l.content)
	case l.firstByte != limit{} && (other.FirstByte == 0 || other.FirstByte > other.Content):
		other.Content = other.FirstByte
	}
	setLimit(&other.Idle, l.idle)
	return &other
}

func setLimit(d *time.Duration, to limit) {
	if to != (limit{}) {
		*d = to.time // 0 is none
	}
}

func gatewayFallbacks(chain []fallback) (made []gateway.Fallback) {
	for _, f := range chain {
		made = append(made, gateway.Fallback{To: f.to, Model: f.model, After: f.after, Kinds: f.immediatelyOn})
	}
	return made
}

func (m *mapper) routePolicy(u upstream, t route) *policy.Policy {
	if t.policy == (choice{}) && t.quota == (quota{}) {
		return nil
	}
	if t.policy == (choice{}) {
		t.policy = u.policy
	}
	return m.config.policyOf(t.policy, t.quota.over(u.quota))
}

// policyOf returns the chosen policy with its quota; nil: the default.
func (c *Config) policyOf(chosen choice, q quota) *policy.Policy {
	switch {
	case chosen == (choice{}) && q == (quota{}):
		return nil
	case chosen == (choice{}):
		chosen = c.policy
	}
	p := c.retry(chosen, q)
	return &p
}

// Retry returns the default policy.
func (c *Config) Retry() policy.Policy { return c.retry(c.policy, quota{}) }

// Supervisor returns the policy by which turns continue after their workers failed.
func (c *Config) Supervisor() policy.Policy { return c.resolve(c.supervisor) }

// Named returns a preset or a named policy of the file; "": the default policy.
func (c *Config) Named(name string) (policy.Policy, error) {
	switch {
	case name == "":
		return c.Retry(), nil
	case !slices.Contains(c.policyNames(), name):
		return policy.Policy{}, fmt.Errorf("unknown policy %q; want %s", name, text.Or(c.policyNames()))
	}
	return c.retry(choice{name: name}, quota{}), nil
}

// retry returns the chosen policy with a quota, capped by max-wait.
func (c *Config) retry(chosen choice, q quota) policy.Policy {
	p := c.resolve(chosen)
	p.Quota = c.quotaOf(q)
	return p.Capped(c.maxWait)
}

func (c *Config) resolve(chosen choice) policy.Policy {
	if chosen.own != nil {
		return chosen.own.policy()
	}
	for _, own := range c.policies {
		if own.name == chosen.name {
			return own.policy()
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

// parseBase parses the base URL of an upstream. Its errors omit the URL, which may contain a password or a key.
func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		u = &url.URL{}
	}
	return u, gateway.CheckBase(u)
}

func defaultURL(api string) string {
	for _, u := range gateway.Defaults() {
		if u.API == api {
			return u.Base.String()
		}
	}
	return ""
}

func isLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// spool bounds the bodies of requests; zero: the gateway's defaults.
type spool struct {
	_ struct{} `name:"spool" about:"The space for all request bodies together." want:"memory, disk and dir"`

	memory int64  `yaml:"memory" as:"size" doc:"The memory for bodies that arrive, are sent or wait. Those that wait are compressed. The rest goes to disk. The default is less where the memory limit (GOMEMLIMIT) is below 256 MiB: a quarter of it." default:"64MiB"`
	disk   int64  `yaml:"disk" as:"size" doc:"The size of the spool file. A request that does not fit is rejected with status 503 and Retry-After." default:"2GiB"`
	dir    string `yaml:"dir" want:"a path" doc:"The directory of the spool file, relative to the configuration file. The file is deleted when the process ends." without:"the system's directory for temporary files"`
}

// receive bounds how slowly a client may send a body; zero: the gateway's defaults.
type receive struct {
	_ struct{} `name:"receive" about:"How slowly a client may send a body." want:"time and rate"`

	time limit `yaml:"time" doc:"How long a client may take for all of a body." default:"10m"`
	rate int64 `yaml:"rate" as:"size" doc:"The least that must arrive per second, on average, once 30 s have passed." default:"16KiB"`
}

// detached makes the gateway read answers on after their clients have left; zero: never.
type detached struct {
	_ struct{} `name:"detached" about:"Answers that the gateway reads to the end after the client has left, in case it sends the request again." want:"agents, time, bytes and from"`

	agents []string      `yaml:"agents" list:"a list of agents" want:"the beginning of a User-Agent, or all" doc:"The clients that this applies to, by the beginning of their ‘User-Agent’ or ‘Originator’: ‘codex’, ‘claude-cli’. ‘all’ is every client." without:"none"`
	time   time.Duration `yaml:"time" doc:"How long the gateway reads an answer after the client has left, and how long it keeps a complete one." default:"5m"`
	bytes  int64         `yaml:"bytes" as:"size" doc:"The largest answer to keep." default:"8MiB"`
	from   string        `yaml:"from" want:"content or request" enum:"content request" doc:"What to read to the end: ‘content’ is an answer that has begun, ‘request’ also a try without an answer so far. An answer that is not streamed arrives all at once, and needs ‘request’." default:"content"`
}

func (d detached) gateway() gateway.Detached {
	return gateway.Detached{Agents: d.agents, Time: d.time, Bytes: d.bytes, Tries: d.from == "request"}
}

// over returns other with the limits that the file sets.
func (r receive) over(other gateway.Receive) *gateway.Receive {
	setLimit(&other.Time, r.time)
	if r.rate > 0 {
		other.Rate = r.rate
	}
	return &other
}
