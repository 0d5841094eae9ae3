// Package app knows every part of the program and puts them together: it reads
// what the environment says and gives models to those who only know package
// llm. Faces, such as package cli, see neither a provider nor a key.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/anthropic"
	"github.com/ridethrough/ridethrough/provider/gemini"
	"github.com/ridethrough/ridethrough/provider/lmstudio"
	"github.com/ridethrough/ridethrough/provider/ollama"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// What is wrong with a model that cannot be had. An error that is neither of
// these is about the name that was asked for.
var (
	ErrCredentials = errors.New("no credentials")
	ErrEnvironment = errors.New("the environment is wrong")
)

// vendor is a provider as it is set up by the environment, in the names that
// its own tools read.
type vendor struct {
	name  string
	keys  []string // variables with a key; the first that is set counts. none: it takes no key
	base  string   // the variable with the base URL
	local bool     // it runs on this machine and needs no key
	begin []string // how the names of its models begin, where nobody else's do
	open  func(model string, at site) llm.Model
}

// site is where a provider is and as whom it is asked.
type site struct {
	base, key, token string
	env              func(string) string
}

// vendors are all providers, in the order in which people are told of them.
func vendors() []vendor {
	return []vendor{
		{
			name: "anthropic", keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, base: "ANTHROPIC_BASE_URL",
			begin: []string{"claude-"},
			open: func(model string, at site) llm.Model {
				return anthropic.New(anthropic.Config{Model: model, Key: at.env("ANTHROPIC_API_KEY"), Token: at.token, BaseURL: at.base})
			},
		},
		{
			name: "openai", keys: []string{"OPENAI_API_KEY"}, base: "OPENAI_BASE_URL",
			begin: []string{"gpt-", "chatgpt-", "o1", "o3", "o4"},
			open: func(model string, at site) llm.Model {
				return openai.New(openai.Config{Model: model, Key: at.key, BaseURL: at.base, API: openai.API(at.env(apiVariable))})
			},
		},
		{
			name: "gemini", keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, base: "GOOGLE_GEMINI_BASE_URL",
			begin: []string{"gemini-"},
			open: func(model string, at site) llm.Model {
				return gemini.New(gemini.Config{Model: model, Key: at.key, BaseURL: at.base})
			},
		},
		{
			name: "ollama", keys: []string{"OLLAMA_API_KEY"}, base: "OLLAMA_HOST", local: true,
			open: func(model string, at site) llm.Model {
				return ollama.New(ollama.Config{Model: model, Key: at.key, BaseURL: at.base})
			},
		},
		{
			name: "lmstudio", keys: []string{"LM_API_TOKEN"}, base: "LMSTUDIO_BASE_URL", local: true,
			open: func(model string, at site) llm.Model {
				return lmstudio.New(lmstudio.Config{Model: model, Key: at.key, BaseURL: at.base})
			},
		},
	}
}

// apiVariable chooses one of OpenAI's two APIs.
const apiVariable = "RIDETHROUGH_OPENAI_API"

// Providers gives the names of all providers.
func Providers() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return names
}

// Model gives the model of a name such as "anthropic/claude-opus-4-5", set up
// by the environment. The provider may be left out where the model's name
// tells it. A key is not needed where the provider is local or stands behind a
// base URL of its own, such as a gateway's.
func Model(name string, env func(string) string) (llm.Model, error) {
	v, model, err := find(name)
	if err != nil {
		return nil, err
	}
	at := site{base: env(v.base), env: env}
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

// find tells whose model a name means.
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

// reaches tells whether a text is an address of the provider. Ollama's own
// tools take a host and a port as well.
func (v vendor) reaches(base string) bool {
	if v.name == "ollama" && !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return provider.CheckURL(base) == nil
}

// Base is where a provider is, as the environment says.
type Base struct {
	Provider string
	URL      *url.URL
}

// Bases gives the addresses that the environment sets, but for those that are
// none, of which [Model] tells.
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

// Suggestions gives a line for each provider that the environment has
// credentials for.
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
