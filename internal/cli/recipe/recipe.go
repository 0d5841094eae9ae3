// Package recipe has what each program needs to use a gateway: the variables, options and files in which it looks for
// the address of its provider. It is the one place for these facts: `exec` sets them for as long as a program runs,
// and `setup` for good.
package recipe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Recipe is what a program needs to use a gateway for as long as it runs.
type Recipe struct {
	Env  map[string]string // in which {url} is the gateway's address
	Args []string          // before the program's own; likewise
	Need Upstream          // that the gateway must have; zero: those of every gateway
}

// Upstream is a provider that a gateway goes on to.
type Upstream struct {
	Name, URL string
	Account   string // whose login it is for
}

// everywhere are the variables that programs and SDKs read.
var everywhere = map[string]string{
	"ANTHROPIC_BASE_URL":         "{url}",
	"ANTHROPIC_API_BASE":         "{url}", // aider and other programs over LiteLLM
	"ANTHROPIC_BEDROCK_BASE_URL": "{url}",
	"ANTHROPIC_VERTEX_BASE_URL":  "{url}/v1",
	"OPENAI_BASE_URL":            "{url}/v1",
	"OPENAI_API_BASE":            "{url}/v1",
	"GOOGLE_GEMINI_BASE_URL":     "{url}",
	"GEMINI_API_BASE":            "{url}",
	"OLLAMA_HOST":                "{url}",
	"OLLAMA_API_BASE":            "{url}",
}

// What logins need: Codex that of a ChatGPT account, and Gemini CLI that of a Google account.
var (
	chatgpt    = Upstream{"chatgpt", "https://chatgpt.com/backend-api/codex", "ChatGPT"}
	codeAssist = Upstream{"code-assist", "https://cloudcode-pa.googleapis.com", "Google"}
)

// codeAssistVariable has the address to which Gemini CLI goes with the login of a Google account.
const codeAssistVariable = "CODE_ASSIST_ENDPOINT"

// For returns what a program needs. The environment may say which login it uses.
func For(program string, env func(string) string) Recipe {
	r := Recipe{Env: everywhere}
	switch nameOf(program) {
	case "codex": // reads no variable
		path := "/v1"
		if codexLogin(env) {
			r.Need, path = chatgpt, "/"+chatgpt.Name
		}
		r.Args = []string{"-c", `openai_base_url="{url}` + path + `"`}
	case "gemini":
		if googleLogin(env) {
			r.Need, r.Env = codeAssist, maps.Clone(r.Env)
			r.Env[codeAssistVariable] = "{url}/" + codeAssist.Name
		}
	case "opencode":
		r.Env = map[string]string{"OPENCODE_CONFIG_CONTENT": opencodeConfig(env("OPENCODE_CONFIG_CONTENT"))}
	}
	return r
}

// WithoutTitles returns the recipe with what keeps a program from changing the terminal's title several times a second,
// which no other title would survive. What its user has set stays.
func (r Recipe) WithoutTitles(program string, env func(string) string) Recipe {
	switch nameOf(program) {
	case "claude":
		if variable := "CLAUDE_CODE_DISABLE_TERMINAL_TITLE"; env(variable) == "" {
			r.Env = maps.Clone(r.Env)
			r.Env[variable] = "1"
		}
	case "codex":
		if text, _ := os.ReadFile(filepath.Join(codexHome(env), "config.toml")); !bytes.Contains(text, []byte("terminal_title")) {
			r.Args = append(slices.Clip(r.Args), "-c", `tui.terminal_title=["project-name"]`) // without what moves
		}
	}
	return r
}

// nameOf returns the name of a program, whose path it may be.
func nameOf(program string) string { return strings.TrimSuffix(filepath.Base(program), ".exe") }

// codexHome returns the folder of Codex's settings.
func codexHome(env func(string) string) string {
	return cmp.Or(env("CODEX_HOME"), filepath.Join(env("HOME"), ".codex"))
}

// codexLogin reports whether Codex is logged in with a ChatGPT account and not with a key.
func codexLogin(env func(string) string) bool {
	text, err := os.ReadFile(filepath.Join(codexHome(env), "auth.json"))
	if err != nil {
		return false
	}
	var auth struct {
		Key    *string          `json:"OPENAI_API_KEY"`
		Tokens *json.RawMessage `json:"tokens"`
	}
	return json.Unmarshal(text, &auth) == nil && auth.Tokens != nil && (auth.Key == nil || *auth.Key == "")
}

// googleAccount is the choice of a Google account in the settings of Gemini CLI, which may have comments.
var googleAccount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"selected(AuthT|T)ype"\s*:\s*"oauth-personal"`)
})

// geminiFile returns the path of a file of Gemini CLI's.
func geminiFile(env func(string) string, name string) string {
	return filepath.Join(cmp.Or(env("GEMINI_CLI_HOME"), env("HOME"), env("USERPROFILE")), ".gemini", name)
}

// googleLogin reports whether Gemini CLI is logged in with a Google account and not with a key.
func googleLogin(env func(string) string) bool {
	text, _ := os.ReadFile(geminiFile(env, "settings.json"))
	return env("GOOGLE_GENAI_USE_GCA") == "true" || googleAccount().Match(text)
}

// opencodeConfig returns a configuration for the variable from which opencode adds to its files, with what the
// variable has already.
func opencodeConfig(has string) string {
	c := map[string]any{}
	if json.Unmarshal([]byte(has), &c) != nil {
		c = map[string]any{}
	}
	providers := member(c, "provider")
	for _, p := range opencodeProviders() {
		member(member(providers, p.name), "options")["baseURL"] = p.url
	}
	text, _ := json.Marshal(c) // of what was JSON before
	return string(text)
}

// opencodeProvider is a provider of opencode, the gateway's address for it, and its upstream there.
type opencodeProvider struct{ name, url, upstream string }

func opencodeProviders() []opencodeProvider {
	return []opencodeProvider{{"anthropic", "{url}/v1", "anthropic"}, {"openai", "{url}/v1", "openai"}, {"google", "{url}/v1beta", "gemini"}}
}

// member returns an object that is a member of another, which it becomes if it is none.
func member(of map[string]any, name string) map[string]any {
	m, ok := of[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[name] = m
	}
	return m
}

// Upstreams are the variables whose present value is another address of a provider, such as a company's own. The
// gateway goes on to that address.
func Upstreams() map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": "anthropic", "OPENAI_BASE_URL": "openai", "GOOGLE_GEMINI_BASE_URL": "gemini", "OLLAMA_HOST": "ollama",
		codeAssistVariable: codeAssist.Name,
	}
}

// At returns the recipe for a gateway's address.
func (r Recipe) At(url string) Recipe {
	filled := Recipe{Env: map[string]string{}, Need: r.Need}
	for name, value := range r.Env {
		filled.Env[name] = strings.ReplaceAll(value, "{url}", url)
	}
	for _, a := range r.Args {
		filled.Args = append(filled.Args, strings.ReplaceAll(a, "{url}", url))
	}
	return filled
}
