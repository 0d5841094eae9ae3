package execcmd

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

// recipe is what a program needs to use a gateway while it runs. The recipes are the one place for these facts:
// `exec` sets them while a program runs, and `setup` prints them for permanent use.
type recipe struct {
	Env  map[string]string // in which {url} is the gateway's address
	Args []string          // before the program's own; likewise
	Need upstream          // that the gateway must have; zero: those of every gateway
}

type upstream struct {
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

// Logins need these: Codex that of a ChatGPT account, Gemini CLI that of a Google account.
var (
	chatgpt    = upstream{"chatgpt", "https://chatgpt.com/backend-api/codex", "ChatGPT"}
	codeAssist = upstream{"code-assist", "https://cloudcode-pa.googleapis.com", "Google"}
)

// codeAssistVariable has the address that Gemini CLI uses with the login of a Google account.
const codeAssistVariable = "CODE_ASSIST_ENDPOINT"

// copilotVariable has the address of the user's own provider for GitHub's Copilot CLI.
const copilotVariable = "COPILOT_PROVIDER_BASE_URL"

func copilotUpstream(env func(string) string) string {
	if env("COPILOT_PROVIDER_TYPE") == "anthropic" {
		return "anthropic"
	}
	return "openai"
}

// recipeFor returns what a program needs. The environment may say which login it uses.
func recipeFor(program string, env func(string) string) recipe {
	r := recipe{Env: everywhere}
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
	case "copilot":
		if env(copilotVariable) != "" { // else it would ask for a key in place of its login
			r.Env = maps.Clone(r.Env)
			r.Env[copilotVariable] = map[string]string{"openai": "{url}/v1", "anthropic": "{url}"}[copilotUpstream(env)]
		}
	case "opencode":
		r.Env = map[string]string{"OPENCODE_CONFIG_CONTENT": opencodeConfig(env("OPENCODE_CONFIG_CONTENT"))}
	}
	return r
}

// withoutTitles adds what keeps a program from changing the terminal's title several times a second, which would
// overwrite ours. The user's own settings win.
func (r recipe) withoutTitles(program string, env func(string) string) recipe {
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

func nameOf(program string) string { return strings.TrimSuffix(filepath.Base(program), ".exe") }

func codexHome(env func(string) string) string {
	return cmp.Or(env("CODEX_HOME"), filepath.Join(env("HOME"), ".codex"))
}

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

// googleAccount matches the choice of a Google account in the settings of Gemini CLI, which may have comments.
var googleAccount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"selected(AuthT|T)ype"\s*:\s*"oauth-personal"`)
})

func geminiFile(env func(string) string, name string) string {
	return filepath.Join(cmp.Or(env("GEMINI_CLI_HOME"), env("HOME"), env("USERPROFILE")), ".gemini", name)
}

func googleLogin(env func(string) string) bool {
	text, _ := os.ReadFile(geminiFile(env, "settings.json"))
	return env("GOOGLE_GENAI_USE_GCA") == "true" || googleAccount().Match(text)
}

// opencodeConfig returns a value for the variable from which opencode extends its configuration, with what the
// variable already has.
func opencodeConfig(has string) string {
	c := map[string]any{}
	if json.Unmarshal([]byte(has), &c) != nil {
		c = map[string]any{}
	}
	text, _ := json.Marshal(opencodeSettings(c, "{url}")) // of what was JSON before
	return string(text)
}

func opencodeSettings(c map[string]any, url string) map[string]any {
	if c == nil {
		c = map[string]any{}
	}
	providers := member(c, "provider")
	for name, path := range map[string]string{"anthropic": "/v1", "openai": "/v1", "google": "/v1beta"} {
		member(member(providers, name), "options")["baseURL"] = url + path
	}
	return c
}

func member(of map[string]any, name string) map[string]any {
	m, ok := of[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[name] = m
	}
	return m
}

// upstreamsOf are the variables whose current value is another address of a provider, such as a company's own. The
// gateway forwards to that address.
func upstreamsOf(env func(string) string) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": "anthropic", "OPENAI_BASE_URL": "openai", "GOOGLE_GEMINI_BASE_URL": "gemini", "OLLAMA_HOST": "ollama",
		codeAssistVariable: codeAssist.Name, copilotVariable: copilotUpstream(env),
	}
}

// elsewhere says where programs without such a variable have the address of their provider.
var elsewhere = map[string]string{
	"pi":       "baseUrl of a provider in ~/.pi/agent/models.json",
	"cn":       "apiBase of a model in ~/.continue/config.yaml",
	"copilot":  copilotVariable + ", with COPILOT_PROVIDER_TYPE, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL",
	"kilo":     "provider.….options.baseURL in ~/.config/kilo/kilo.json",
	"cline":    "cline auth -p openai-compatible -b URL/v1 -k KEY -m MODEL",
	"crush":    "base_url of a provider in ~/.config/crush/crush.json",
	"openclaw": "models.providers.….baseUrl in ~/.openclaw/openclaw.json",
}

func (r recipe) at(url string) recipe {
	filled := recipe{Env: map[string]string{}, Need: r.Need}
	for name, value := range r.Env {
		filled.Env[name] = strings.ReplaceAll(value, "{url}", url)
	}
	for _, a := range r.Args {
		filled.Args = append(filled.Args, strings.ReplaceAll(a, "{url}", url))
	}
	return filled
}

// here are the names of this machine, which no proxy can resolve.
var here = []string{"127.0.0.1", "localhost"}

// direct returns the variables with which a program behind a proxy reaches a gateway on this machine directly, or
// none where no proxy is set.
func direct(env func(string) string) map[string]string {
	proxied := false
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		proxied = proxied || env(name) != "" || env(strings.ToLower(name)) != ""
	}
	if !proxied {
		return nil
	}
	const upper, lower = "NO_PROXY", "no_proxy" // programs read one or the other first
	return map[string]string{upper: withHere(cmp.Or(env(upper), env(lower))), lower: withHere(cmp.Or(env(lower), env(upper)))}
}

func withHere(list string) string {
	hosts := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range here {
		if !slices.Contains(hosts, name) && !slices.Contains(hosts, "*") {
			hosts = append(hosts, name)
		}
	}
	return strings.Join(hosts, ",")
}
