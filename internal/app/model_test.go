package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/app"
)

// env looks up in a list such as "A=1 B=2".
func env(list string) func(string) string {
	return func(name string) string {
		for _, e := range strings.Fields(list) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestModels_Names(t *testing.T) {
	all := env("ANTHROPIC_API_KEY=k OPENAI_API_KEY=k GOOGLE_API_KEY=k")
	for name, want := range map[string]string{
		"anthropic/claude-opus-4-5": "anthropic/claude-opus-4-5",
		"claude-opus-4-5":           "anthropic/claude-opus-4-5",
		"openai/gpt-5":              "openai/gpt-5",
		"o3-mini":                   "openai/o3-mini",
		"gpt-5":                     "openai/gpt-5",
		"gemini-3-pro":              "gemini/gemini-3-pro",
		"gemini/models/x":           "gemini/models/x",
		"ollama/hf.co/a/b:Q4":       "ollama/hf.co/a/b:Q4",
		"lmstudio/qwen/qwen3":       "lmstudio/qwen/qwen3",
	} {
		m, err := app.NewModels(all, nil, classify.Classifier{}).Open(name)
		if err != nil || m.Name().String() != want {
			t.Errorf("Open(%q): got %v and error %v, want %s", name, m, err, want)
		}
	}
	for _, name := range []string{"", "llama3", "acme/large", "anthropic/", "/x"} {
		_, err := app.NewModels(all, nil, classify.Classifier{}).Open(name)
		if err == nil || !strings.Contains(err.Error(), "anthropic, openai, gemini, ollama or lmstudio") {
			t.Errorf("Open(%q): got error %v, want one that lists the providers", name, err)
		}
	}
}

func TestModels_ErrorNamesWhatIsMissing(t *testing.T) {
	tests := []struct {
		model, env string
		want       error
		says       string
	}{
		{"claude-x", "", app.ErrCredentials, "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"},
		{"claude-x", "ANTHROPIC_AUTH_TOKEN=t", nil, ""},
		{"claude-x", "ANTHROPIC_BASE_URL=http://127.0.0.1:8484", nil, ""},
		{"claude-x", "ANTHROPIC_BASE_URL=127.0.0.1:8484", app.ErrEnvironment, "ANTHROPIC_BASE_URL"},
		{"gpt-5", "", app.ErrCredentials, "OPENAI_API_KEY"},
		{"gpt-5", "OPENAI_BASE_URL=http://127.0.0.1:8484/v1", nil, ""},
		{"gpt-5", "OPENAI_API_KEY=k RIDETHROUGH_OPENAI_API=soap", app.ErrEnvironment, "want chat or responses"},
		{"gpt-5", "OPENAI_API_KEY=k RIDETHROUGH_OPENAI_API=chat", nil, ""},
		{"gemini-3", "GEMINI_API_KEY=k", nil, ""},
		{"gemini-3", "", app.ErrCredentials, "GOOGLE_API_KEY or GEMINI_API_KEY"},
		{"ollama/q", "", nil, ""},
		{"ollama/q", "OLLAMA_HOST=0.0.0.0:11434", nil, ""},
		{"ollama/q", "OLLAMA_HOST=:11434", nil, ""},
		{"ollama/q", "OLLAMA_HOST=::::", app.ErrEnvironment, "OLLAMA_HOST"},
		{"lmstudio/q", "", nil, ""},
	}
	for _, tt := range tests {
		_, err := app.NewModels(env(tt.env), nil, classify.Classifier{}).Open(tt.model)
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s with %q: %v", tt.model, tt.env, err)
		}
	}
}

func TestModels_ErrorsContainNoKey(t *testing.T) {
	_, err := app.NewModels(env("OPENAI_BASE_URL=sk-secret"), nil, classify.Classifier{}).Open("gpt-5")
	if err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("Model with a key as base URL: %v, want an error without the key", err)
	}
	if s := fmt.Sprint(app.Suggestions(env("OPENAI_API_KEY=sk-secret OLLAMA_HOST=h"))); s != "[openai/… (OPENAI_API_KEY is set) ollama/… (OLLAMA_HOST is set)]" {
		t.Errorf("Suggestions = %s, want the variables without their values", s)
	}
}

func ExampleModels_Open() {
	env := map[string]string{"OLLAMA_HOST": "127.0.0.1"}
	m, err := app.NewModels(func(name string) string { return env[name] }, nil, classify.Classifier{}).Open("ollama/qwen3")
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Name())
	// Output: ollama/qwen3
}
