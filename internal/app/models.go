package app

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/transport"
)

// Models opens the models of agents at the upstreams of the configuration and at the built-in providers. Its
// methods may run concurrently.
type Models struct {
	env    func(string) string
	config func() *config.Config
	faults classify.Classifier

	mu          sync.Mutex
	file        *config.Config              // what conf and upstreams are of; nil: nothing yet
	conf        config.Config               // with what the environment says
	upstreams   map[string]gateway.Upstream // those that have been used: a key file that vanishes leaves its last key
	connections map[network]http.RoundTripper
	clients     map[client]*http.Client // which know what has answered at their addresses
}

// network is how an upstream is reached. Upstreams reached the same way share connections.
type network struct {
	gateway.Network
	connect time.Duration
}

type client struct {
	network
	limits transport.Limits
}

// NewModels returns the models of a configuration, which may change; nil: the default one. faults classifies their
// providers' faults.
func NewModels(env func(string) string, c func() *config.Config, faults classify.Classifier) *Models {
	if c == nil {
		none, _ := config.Parse("", nil) // an empty file has no mistake
		c = func() *config.Config { return &none }
	}
	return &Models{env: env, config: c, faults: faults, connections: map[network]http.RoundTripper{}, clients: map[client]*http.Client{}}
}

// current returns the configuration in force. m.mu is held.
func (m *Models) current() *config.Config {
	if file := m.config(); file != m.file {
		m.file, m.conf, m.upstreams = file, Environment(*file, m.env), map[string]gateway.Upstream{}
	}
	return &m.conf
}

type place struct {
	gateway.Upstream
	model string
}

func (m *Models) find(name string) (place, error) {
	upstream, model, err := find(m.current(), name)
	if err != nil {
		return place{}, err
	}
	return m.place(upstream, model)
}

func (m *Models) place(upstream, model string) (place, error) {
	api := m.conf.API(upstream)
	if _, ok := vendorOf(api); !ok {
		return place{}, fmt.Errorf("upstream %s has the API %s, which only clients of the gateway can use; agents use upstreams with the API %s",
			upstream, api, text.Or(append(Providers(), "azure")))
	}
	if u, ok := m.upstreams[upstream]; ok {
		return place{u, model}, nil
	}
	u, err := m.conf.Upstream(upstream, m.env)
	if err != nil {
		return place{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	m.upstreams[upstream] = u
	return place{u, model}, nil
}

func (m *Models) open(at place) (llm.Model, error) {
	if err := at.check(nil); err != nil {
		return nil, err
	}
	v, _ := vendorOf(at.API)
	to, err := m.site(at, v)
	if err != nil {
		return nil, err
	}
	_, limits, _ := at.ForModel(at.model)
	to.client = m.client(client{network{at.Network, at.Limits.Connect}, transport.Limits{FirstByte: limits.FirstByte, WithoutContent: limits.Content, Idle: limits.Idle}})
	return v.open(at.model, to), nil
}

func (m *Models) client(of client) *http.Client {
	if m.connections[of.network] == nil {
		m.connections[of.network] = of.Transport(of.connect)
	}
	if m.clients[of] == nil {
		t := &transport.Transport{Base: m.connections[of.network], Limits: of.limits}
		m.clients[of] = provider.Observe(&http.Client{Transport: t})
	}
	return m.clients[of]
}

func (m *Models) site(at place, v vendor) (site, error) {
	to := site{name: at.Name, faults: m.faults, api: provider.API(m.env(apiVariable))}
	field := "upstreams." + at.Name + "."
	switch from := m.conf.Overridden(field + "url"); {
	case from == "" && at.Name == v.name && m.env(v.base) != "":
		return to, fmt.Errorf("%w: %s: want a base URL such as http://127.0.0.1:8484", ErrEnvironment, v.base)
	case from != "" && from == v.base:
		to.base = m.env(v.base)
	case at.Base != nil:
		to.base = at.ClientURL().String()
	}
	if !slices.Contains([]provider.API{"", provider.Chat, provider.Responses}, to.api) && v.name == "openai" {
		return to, fmt.Errorf("%w: %s: %q; want chat or responses", ErrEnvironment, apiVariable, to.api)
	}
	switch {
	case at.NoKey:
	case at.Key == nil || m.conf.Overridden(field+"key") != "":
		to.key = m.env(v.key(m.env))
		if v.name == "anthropic" {
			to.key, to.token = m.env(v.keys[0]), m.env(authToken)
		}
	default:
		key, err := at.Key()
		if err != nil {
			return to, fmt.Errorf("%w for %s: %w", ErrCredentials, at.Name, err)
		}
		to.key = key
	}
	if to.key+to.token == "" && to.base == "" && !v.local && !at.NoKey {
		return to, fmt.Errorf("%w for %s: set %s", ErrCredentials, cmp.Or(at.Name, v.name), strings.Join(v.keys, " or "))
	}
	return to, nil
}

// check returns a mistake in an upstream, or in the failover from it to others, as the gateway would.
func (at place) check(others []place) error {
	_, _, chain := at.ForModel(at.model)
	if others == nil {
		chain = nil
	}
	at.Routes, at.Fallback = nil, chain
	all := []gateway.Upstream{at.Upstream}
	for _, to := range others {
		to.Routes, to.Fallback = nil, nil
		if !slices.ContainsFunc(all, func(u gateway.Upstream) bool { return u.Name == to.Name }) {
			all = append(all, to.Upstream)
		}
	}
	if err := (gateway.Config{Upstreams: all}).Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

type way struct {
	models []llm.Model
	terms  map[llm.Name]agent.Terms
}

func (w way) at(name llm.Name) agent.Terms { return w.terms[name] }

// way returns the models of a conversation's settings, in the order of failover. Settings without fallbacks use
// those of the configuration.
func (m *Models) way(s conversation.Settings) (w way, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places, hops, err := m.places(s)
	if err != nil {
		return w, err
	}
	w.terms = map[llm.Name]agent.Terms{}
	for i, at := range places {
		model, err := m.open(at)
		if err != nil {
			return w, err
		}
		mode := at.CompleteFor(at.model)
		terms := agent.Terms{
			Patience: agent.Forever, CompleteOff: mode == gateway.CompleteOff,
			CompleteText: mode == gateway.CompleteText || mode == gateway.CompletePrefill,
		}
		if i < len(hops) {
			terms.Patience, terms.Immediately = hops[i].After, hops[i].Kinds
		}
		if terms.Policy, err = m.policy(s.Policy, at); err != nil {
			return w, err
		}
		w.models, w.terms[model.Name()] = append(w.models, model), terms
	}
	return w, nil
}

// places returns where the models of a conversation's settings are, and the fallbacks between them.
func (m *Models) places(s conversation.Settings) (all []place, hops []gateway.Fallback, err error) {
	first, err := m.find(s.Model)
	if err != nil {
		return nil, nil, err
	}
	all = []place{first}
	for _, name := range s.Fallback {
		next, err := m.find(name)
		if err != nil {
			return nil, nil, err
		}
		all, hops = append(all, next), append(hops, gateway.Fallback{After: time.Duration(s.Patience)})
	}
	_, _, chain := first.ForModel(first.model)
	if len(s.Fallback) > 0 || len(chain) == 0 {
		return all, hops, nil
	}
	for _, f := range chain {
		next, err := m.place(f.To, cmp.Or(f.Model, first.model))
		if err != nil {
			return nil, nil, err
		}
		f.After = cmp.Or(time.Duration(s.Patience), f.After, agent.Forever)
		all, hops = append(all, next), append(hops, f)
	}
	return all, hops, first.check(all[1:])
}

// policy returns the policy of a name at a place; "": the place's own, or the configuration's. The quota is always
// the place's.
func (m *Models) policy(name string, at place) (policy.Policy, error) {
	own, _, _ := at.ForModel(at.model)
	if name == "" && own != nil {
		return *own, nil
	}
	p, err := m.conf.Named(name)
	if own != nil {
		p.Quota = own.Quota
	}
	return p, err
}

// Shared has the circuit breakers of one process, those of its gateway too. An agent that asks one of the gateway's
// upstreams at the same address shares the breaker and the name of that upstream, so that one outage is reported once.
// Its methods may be called concurrently.
type Shared struct {
	models *Models
	set    breaker.Set // of conversations and councils

	mu       sync.Mutex
	breakers map[string]*breaker.Breaker // by upstream
}

// Shared returns the breakers that agents with these models share with a gateway of the same configuration.
func (m *Models) Shared() *Shared {
	s := &Shared{models: m, breakers: map[string]*breaker.Breaker{}}
	s.set.Shared = s.Of
	return s
}

// Add adds the breaker of an upstream of the gateway, until leave is called.
func (s *Shared) Add(upstream string, b *breaker.Breaker) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakers[upstream] = b
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.breakers[upstream] == b {
			delete(s.breakers, upstream)
		}
	}
}

// Of returns the gateway's breaker for a provider; nil: agents use another address.
func (s *Shared) Of(provider string) *breaker.Breaker {
	s.mu.Lock()
	b := s.breakers[provider]
	s.mu.Unlock()
	if b == nil || !s.models.asksUpstream(provider) {
		return nil
	}
	return b
}

// asksUpstream reports whether agents reach a provider where a gateway with the same configuration does: the
// environment has no other address for it.
func (m *Models) asksUpstream(provider string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current().SameAddress(provider, m.config())
}
