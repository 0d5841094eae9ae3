package app

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/provider/openai"
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
	connections map[network]*http.Transport
}

// network is how an upstream is reached. Upstreams that are reached in the same way share their connections.
type network struct {
	gateway.Network
	connect time.Duration
}

// NewModels returns the models of a configuration, which may change; nil: the default one. faults classifies
// the faults of their providers.
func NewModels(env func(string) string, c func() *config.Config, faults classify.Classifier) *Models {
	if c == nil {
		none, _ := config.Parse("", nil) // an empty file has no mistake
		c = func() *config.Config { return &none }
	}
	return &Models{env: env, config: c, faults: faults, connections: map[network]*http.Transport{}}
}

// current returns the configuration in force. m.mu is held.
func (m *Models) current() *config.Config {
	if file := m.config(); file != m.file {
		m.file, m.conf, m.upstreams = file, Environment(*file, m.env), map[string]gateway.Upstream{}
	}
	return &m.conf
}

// place is a model at its upstream.
type place struct {
	gateway.Upstream
	model string
}

// Open returns the model of a name such as "anthropic/claude-opus-4-5", whose first part is an upstream of the
// configuration or a built-in provider. It may be left out if only one provider has models with that prefix. No
// key is needed for a local provider, or with a base URL, such as a gateway's.
func (m *Models) Open(name string) (llm.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return m.open(at)
}

// find returns the place of a model's name.
func (m *Models) find(name string) (place, error) {
	upstream, model, err := find(m.current(), name)
	if err != nil {
		return place{}, err
	}
	return m.place(upstream, model)
}

// place returns the place of a model at the upstream of a name.
func (m *Models) place(upstream, model string) (place, error) {
	if api := m.conf.API(upstream); !speaks(api) {
		return place{}, fmt.Errorf("upstream %s has the API %s, which only clients of the gateway can use; agents use upstreams with the API %s",
			upstream, api, list(append(Providers(), "azure")))
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

// speaks reports whether agents can use an API.
func speaks(api string) bool { _, ok := vendorOf(api); return ok }

// open opens the model at a place.
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
	way := network{at.Network, at.Limits.Connect}
	if m.connections[way] == nil {
		m.connections[way] = way.Standard(way.connect)
	}
	to.client = &http.Client{Transport: &transport.Transport{
		Base: m.connections[way], Limits: transport.Limits{FirstByte: limits.FirstByte, Idle: limits.Idle},
	}}
	return v.open(at.model, to), nil
}

// site returns the address and the credentials of a place.
func (m *Models) site(at place, v vendor) (site, error) {
	to := site{name: at.Name, faults: m.faults, api: openai.API(m.env(apiVariable))}
	field := "upstreams." + at.Name + "."
	switch from := m.conf.Overridden(field + "url"); {
	case from == "" && at.Name == v.name && m.env(v.base) != "":
		return to, fmt.Errorf("%w: %s: want a base URL such as http://127.0.0.1:8484", ErrEnvironment, v.base)
	case from != "" && from == v.base:
		to.base = m.env(v.base)
	case at.Base != nil:
		to.base = at.ClientURL().String()
	}
	if !slices.Contains([]openai.API{"", openai.Chat, openai.Responses}, to.api) && v.name == "openai" {
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
		return to, v.missing(at.Name)
	}
	return to, nil
}

// check returns a mistake in an upstream or in the way from it to others, as the gateway would.
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

// way is the models of an agent, in the order in which they take over, and what holds at each.
type way struct {
	models []llm.Model
	terms  map[llm.Name]agent.Terms
}

// at returns what holds at a model.
func (w way) at(name llm.Name) agent.Terms { return w.terms[name] }

// way returns the models of a conversation's settings. Without fallbacks of their own, those of the
// configuration take over.
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
		terms := agent.Terms{Patience: agent.Forever, CompleteText: mode == gateway.CompleteText || mode == gateway.CompletePrefill}
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

// places returns where the models of a conversation's settings are, and the way from each to the next.
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

// supervisor returns the supervisor's policy of the configuration in force.
func (m *Models) supervisor() policy.Policy { return m.config().Supervisor() }

// policy returns the policy of a name for a place; "": the place's own, or that of the configuration. Its quota is
// the place's in any case.
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
