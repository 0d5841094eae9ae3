// Package app puts the parts of the program together. It opens models as the
// environment says, so that other packages see neither providers nor keys.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/anthropic"
	"github.com/ridethrough/ridethrough/provider/gemini"
	"github.com/ridethrough/ridethrough/provider/lmstudio"
	"github.com/ridethrough/ridethrough/provider/ollama"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// The errors of [Model]. Any other one is about the model's name.
var (
	ErrCredentials = errors.New("no credentials")
	ErrEnvironment = errors.New("invalid environment")
)

// vendor is a provider with the environment variables that its own tools read.
type vendor struct {
	name  string
	keys  []string // variables with a key, the first that is set counts; none: it takes no key
	base  string   // the variable with the base URL
	local bool     // it runs on this machine and needs no key
	begin []string // the prefixes that only its models have
	open  func(model string, at site) llm.Model
}

// site is a provider's address and credentials.
type site struct {
	base, key, token string
	env              func(string) string
	faults           classify.Classifier
}

// vendors returns all providers, in the order in which the user sees them.
func vendors() []vendor {
	return []vendor{
		{
			name: "anthropic", keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, base: "ANTHROPIC_BASE_URL",
			begin: []string{"claude-"},
			open: func(model string, at site) llm.Model {
				return anthropic.New(anthropic.Config{Model: model, Faults: at.faults, Key: at.env("ANTHROPIC_API_KEY"), Token: at.token, BaseURL: at.base})
			},
		},
		{
			name: "openai", keys: []string{"OPENAI_API_KEY"}, base: "OPENAI_BASE_URL",
			begin: []string{"gpt-", "chatgpt-", "o1", "o3", "o4"},
			open: func(model string, at site) llm.Model {
				return openai.New(openai.Config{Model: model, Faults: at.faults, Key: at.key, BaseURL: at.base, API: openai.API(at.env(apiVariable))})
			},
		},
		{
			name: "gemini", keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, base: "GOOGLE_GEMINI_BASE_URL",
			begin: []string{"gemini-"},
			open: func(model string, at site) llm.Model {
				return gemini.New(gemini.Config{Model: model, Faults: at.faults, Key: at.key, BaseURL: at.base})
			},
		},
		{
			name: "ollama", keys: []string{"OLLAMA_API_KEY"}, base: "OLLAMA_HOST", local: true,
			open: func(model string, at site) llm.Model {
				return ollama.New(ollama.Config{Model: model, Faults: at.faults, Key: at.key, BaseURL: at.base})
			},
		},
		{
			name: "lmstudio", keys: []string{"LM_API_TOKEN"}, base: "LMSTUDIO_BASE_URL", local: true,
			open: func(model string, at site) llm.Model {
				return lmstudio.New(lmstudio.Config{Model: model, Faults: at.faults, Key: at.key, BaseURL: at.base})
			},
		},
	}
}

// apiVariable chooses one of OpenAI's two APIs.
const apiVariable = "RIDETHROUGH_OPENAI_API"

// Providers returns the names of all providers.
func Providers() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return names
}

// Model returns the model of a name such as "anthropic/claude-opus-4-5", set up by the environment. The
// provider may be left out if only it has models with that prefix. No key is needed for a local provider or
// with a base URL, such as a gateway's. faults classifies its faults.
func Model(name string, env func(string) string, faults classify.Classifier) (llm.Model, error) {
	v, model, err := find(name)
	if err != nil {
		return nil, err
	}
	at := site{base: env(v.base), env: env, faults: faults}
	if at.base != "" && !v.reaches(at.base) {
		return nil, fmt.Errorf("%w: %s: want a base URL such as http://127.0.0.1:8484", ErrEnvironment, v.base)
	}
	for _, variable := range v.keys {
		at.key = cmp.Or(at.key, env(variable))
	}
	if at.key == "" && at.base == "" && !v.local {
		return nil, fmt.Errorf("%w for %s: set %s", ErrCredentials, v.name, strings.Join(v.keys, " or "))
	}
	if v.name == "anthropic" {
		at.token = env("ANTHROPIC_AUTH_TOKEN")
	}
	if api := env(apiVariable); v.name == "openai" && !slices.Contains([]string{"", "chat", "responses"}, api) {
		return nil, fmt.Errorf("%w: %s: %q; want chat or responses", ErrEnvironment, apiVariable, api)
	}
	return v.open(model, at), nil
}

// find returns the provider and the model of a name.
func find(name string) (v vendor, model string, err error) {
	all := vendors()
	if before, after, ok := strings.Cut(name, "/"); ok {
		i := slices.IndexFunc(all, func(v vendor) bool { return v.name == before })
		if i >= 0 && after != "" {
			return all[i], after, nil
		}
	}
	for _, v := range all {
		if slices.ContainsFunc(v.begin, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return v, name, nil
		}
	}
	return vendor{}, "", fmt.Errorf("model %q: want PROVIDER/MODEL, where PROVIDER is %s", name, list(Providers()))
}

// reaches reports whether a text is an address of the provider. Ollama's own
// tools take a host and a port as well.
func (v vendor) reaches(base string) bool {
	if v.name == "ollama" && !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return provider.CheckURL(base) == nil
}

// Base is a provider's base URL from the environment.
type Base struct {
	Provider string
	URL      *url.URL
}

// Bases returns the base URLs in the environment. It skips invalid ones, which are errors of [Model].
func Bases(env func(string) string) (all []Base) {
	for _, v := range vendors() {
		base := env(v.base)
		if base == "" || !v.reaches(base) {
			continue
		}
		read := url.Parse
		if v.name == "ollama" {
			read = ollama.ParseHost
		}
		if u, err := read(base); err == nil {
			all = append(all, Base{v.name, u})
		}
	}
	return all
}

// Suggestions returns a line for each provider that the environment has credentials for.
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

// list writes words as a list: "a, b or c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
