// Package app puts the parts of the program together. It opens models as the configuration and the environment
// say, so that other packages see neither providers nor keys.
package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// The errors of [Models]. Any other error is about a model's name or the configuration.
var (
	ErrCredentials = errors.New("no credentials")
	ErrEnvironment = errors.New("invalid environment")
	ErrConfig      = errors.New("invalid configuration")
)

type vendor struct {
	name  string
	keys  []string // variables with a key, the first that is set counts; none: it takes no key
	base  string   // the variable with the base URL
	local bool     // it runs on this machine and needs no key
	begin []string // the prefixes that only its models have
	open  func(model string, at site) llm.Model
}

type site struct {
	name             string // of the upstream
	base, key, token string
	api              provider.API
	client           *http.Client
	faults           classify.Classifier
}

func vendors() []vendor {
	return []vendor{
		{
			name: "anthropic", keys: []string{"ANTHROPIC_API_KEY", authToken}, base: "ANTHROPIC_BASE_URL",
			begin: []string{"claude-"},
			open: func(model string, at site) llm.Model {
				return provider.Anthropic(provider.Config{Model: model, Provider: at.name, Faults: at.faults, Client: at.client, Key: at.key, Token: at.token, BaseURL: at.base})
			},
		},
		{
			name: "openai", keys: []string{"OPENAI_API_KEY"}, base: "OPENAI_BASE_URL",
			begin: []string{"gpt-", "chatgpt-", "o1", "o3", "o4"},
			open:  openOpenAI,
		},
		{
			name: "gemini", keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, base: "GOOGLE_GEMINI_BASE_URL",
			begin: []string{"gemini-"},
			open: func(model string, at site) llm.Model {
				return provider.Gemini(provider.Config{Model: model, Provider: at.name, Faults: at.faults, Client: at.client, Key: at.key, BaseURL: at.base})
			},
		},
		{
			name: "ollama", keys: []string{"OLLAMA_API_KEY"}, base: "OLLAMA_HOST", local: true,
			open: func(model string, at site) llm.Model {
				return provider.Ollama(provider.Config{Model: model, Provider: at.name, Faults: at.faults, Client: at.client, Key: at.key, BaseURL: at.base})
			},
		},
		{
			name: "lmstudio", keys: []string{"LM_API_TOKEN"}, base: "LMSTUDIO_BASE_URL", local: true,
			open: func(model string, at site) llm.Model {
				return provider.LMStudio(provider.Config{Model: model, Provider: at.name, Faults: at.faults, Client: at.client, Key: at.key, BaseURL: at.base})
			},
		},
	}
}

func openOpenAI(model string, at site) llm.Model {
	return provider.OpenAI(provider.Config{Model: model, Provider: at.name, Faults: at.faults, Client: at.client, Key: at.key, BaseURL: at.base, API: at.api})
}

const (
	authToken   = "ANTHROPIC_AUTH_TOKEN"   // a bearer token, besides the key
	apiVariable = "RIDETHROUGH_OPENAI_API" // chooses one of OpenAI's two APIs
)

// vendorOf returns the provider that agents use for an API; false: agents do not speak it.
func vendorOf(api string) (vendor, bool) {
	if api == "azure" { // it takes OpenAI's requests, and knows no address without a configuration
		return vendor{name: api, open: openOpenAI}, true
	}
	all := vendors()
	if i := slices.IndexFunc(all, func(v vendor) bool { return v.name == api }); i >= 0 {
		return all[i], true
	}
	return vendor{}, false
}

// Providers returns the names of all built-in providers.
func Providers() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return names
}

// find returns the names of the upstream and of the model of a name such as "anthropic/claude-opus-4-5". The
// upstream may be left out if only one provider has models with that prefix: as in a request to the gateway,
// the first upstream with its API is meant.
func find(c *config.Config, name string) (upstream, model string, err error) {
	if before, after, ok := strings.Cut(name, "/"); ok && after != "" && c.API(before) != "" {
		return before, after, nil
	}
	for _, v := range vendors() {
		if slices.ContainsFunc(v.begin, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return c.First(v.name), name, nil
		}
	}
	return "", "", fmt.Errorf("model %q: want PROVIDER/MODEL, where PROVIDER is %s", name, text.Or(providers(c)))
}

func providers(c *config.Config) []string {
	all := Providers()
	for _, name := range c.Upstreams() {
		if _, ok := vendorOf(c.API(name)); ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// reaches reports whether a text is an address of the provider. Ollama's own tools also accept a host and a port.
func (v vendor) reaches(base string) bool {
	if v.name == "ollama" && !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return provider.CheckURL(base) == nil
}

func (v vendor) key(env func(string) string) string {
	for _, variable := range v.keys {
		if env(variable) != "" {
			return variable
		}
	}
	return ""
}

// Base is a provider's base URL from the environment.
type Base struct {
	Provider string
	Variable string // of the environment
	URL      *url.URL
}

// Bases returns the base URLs in the environment. It skips invalid ones, which are errors when a model is opened.
func Bases(env func(string) string) (all []Base) {
	for _, v := range vendors() {
		base := env(v.base)
		if base == "" || !v.reaches(base) {
			continue
		}
		read := url.Parse
		if v.name == "ollama" {
			read = provider.ParseHost
		}
		if u, err := read(base); err == nil {
			all = append(all, Base{v.name, v.base, u})
		}
	}
	return all
}

// Environment returns a configuration with the variables of the providers' own tools applied.
func Environment(c config.Config, env func(string) string) config.Config {
	bases := Bases(env)
	for _, v := range vendors() {
		said := config.Provider{Name: v.name, BaseFrom: v.base, KeyEnv: v.key(env)}
		if i := slices.IndexFunc(bases, func(b Base) bool { return b.Provider == v.name }); i >= 0 {
			said.Base = bases[i].URL.String()
		}
		c.SetProvider(said)
	}
	return c
}

// Suggestions returns a line for each provider with credentials in the environment.
func Suggestions(env func(string) string) []string {
	var ready []string
	for _, v := range vendors() {
		for _, variable := range append(v.keys, v.base) {
			if env(variable) != "" {
				ready = append(ready, v.name+"/… ("+variable+" is set)")
				break
			}
		}
	}
	return ready
}
