package execcmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// variables returns an environment.
func variables(all map[string]string) func(string) string {
	return func(name string) string { return all[name] }
}

func TestRecipe_EachProgramGetsWhatItReads(t *testing.T) {
	home := t.TempDir()
	codexHome := func(auth string) map[string]string {
		dir := filepath.Join(home, strconv.Itoa(len(auth)))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatalf("a home of Codex: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "auth.json"), []byte(auth), 0o600); err != nil {
			t.Fatalf("a login of Codex: %v", err)
		}
		return map[string]string{"CODEX_HOME": dir}
	}
	google := filepath.Join(home, ".gemini")
	if err := os.MkdirAll(google, 0o700); err != nil {
		t.Fatalf("a home of Gemini CLI: %v", err)
	}
	if err := os.WriteFile(filepath.Join(google, "settings.json"), []byte("{ // mine\n\"security\": {\"auth\": {\"selectedType\": \"oauth-personal\"}}}"), 0o600); err != nil {
		t.Fatalf("settings of Gemini CLI: %v", err)
	}
	const endpoint = "CODE_ASSIST_ENDPOINT"
	for _, c := range []struct {
		program  string
		env      map[string]string
		variable string
		value    string
		args     []string
		need     string
	}{
		{program: "/usr/bin/claude", variable: "ANTHROPIC_BASE_URL", value: "http://h:1"},
		{program: "gemini", variable: "GOOGLE_GEMINI_BASE_URL", value: "http://h:1"},
		{program: "gemini", variable: endpoint, value: ""},
		{program: "gemini", env: map[string]string{"HOME": home}, variable: endpoint, value: "http://h:1/code-assist", need: "code-assist"},
		{program: "gemini", env: map[string]string{"GOOGLE_GENAI_USE_GCA": "true"}, variable: endpoint, value: "http://h:1/code-assist", need: "code-assist"},
		{program: "claude", env: map[string]string{"HOME": home}, variable: endpoint, value: ""},
		{program: "qwen", variable: "OPENAI_BASE_URL", value: "http://h:1/v1"},
		{program: "aider", variable: "OPENAI_API_BASE", value: "http://h:1/v1"},
		{program: "python", variable: "ANTHROPIC_VERTEX_BASE_URL", value: "http://h:1/v1"},
		{program: "codex", variable: "OPENAI_BASE_URL", value: "http://h:1/v1", args: []string{"-c", `openai_base_url="http://h:1/v1"`}},
		{program: "codex", env: codexHome(`{"OPENAI_API_KEY":null,"tokens":{"access_token":"x"}}`), args: []string{"-c", `openai_base_url="http://h:1/chatgpt"`}, need: "chatgpt"},
		{program: "codex", env: codexHome(`{"OPENAI_API_KEY":"sk-x","tokens":{}}`), args: []string{"-c", `openai_base_url="http://h:1/v1"`}},
		{program: "codex", env: codexHome(`damaged`), args: []string{"-c", `openai_base_url="http://h:1/v1"`}},
	} {
		r := recipeFor(c.program, variables(c.env)).at("http://h:1")
		if c.variable != "" && r.Env[c.variable] != c.value {
			t.Errorf("%s: %s is %q, want %q", c.program, c.variable, r.Env[c.variable], c.value)
		}
		if !slices.Equal(r.Args, c.args) || r.Need.Name != c.need {
			t.Errorf("%s with %v: arguments %q and need %q, want %q and %q", c.program, c.env, r.Args, r.Need.Name, c.args, c.need)
		}
	}
}

func TestRecipe_AddsToOpencodesOwnConfiguration(t *testing.T) {
	for _, has := range []string{``, `broken`, `{"theme":"dark","provider":{"anthropic":{"options":{"timeout":5}},"openai":7}}`} {
		r := recipeFor("opencode", variables(map[string]string{"OPENCODE_CONFIG_CONTENT": has})).at("http://h:1")
		var got map[string]any
		if err := json.Unmarshal([]byte(r.Env["OPENCODE_CONFIG_CONTENT"]), &got); err != nil {
			t.Fatalf("with %s: %v", has, err)
		}
		anthropic := map[string]any{"baseURL": "http://h:1/v1"}
		want := map[string]any{"provider": map[string]any{
			"anthropic": map[string]any{"options": anthropic},
			"openai":    map[string]any{"options": map[string]any{"baseURL": "http://h:1/v1"}},
			"google":    map[string]any{"options": map[string]any{"baseURL": "http://h:1/v1beta"}},
		}}
		if has != "" && has != "broken" {
			want["theme"], anthropic["timeout"] = "dark", 5.0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", has, diff)
		}
	}
}

func TestRecipe_WithoutTitlesThatMove(t *testing.T) {
	const variable = "CLAUDE_CODE_DISABLE_TERMINAL_TITLE"
	home := t.TempDir()
	settings := filepath.Join(home, "config.toml")
	titles := func(program string, env map[string]string) recipe {
		env["CODEX_HOME"] = home
		return recipeFor(program, variables(env)).withoutTitles(program, variables(env))
	}
	if got := titles("/bin/claude", map[string]string{}).Env[variable]; got != "1" {
		t.Errorf("claude: %s is %q, want 1", variable, got)
	}
	if got, has := titles("claude", map[string]string{variable: "0"}).Env[variable]; has {
		t.Errorf("claude, whose user has set %s: it becomes %q, want it left alone", variable, got)
	}
	if got := recipeFor("claude", variables(nil)).Env[variable]; got != "" {
		t.Errorf("claude with its titles: %s is %q, want none", variable, got)
	}
	want := []string{"-c", `openai_base_url="{url}/v1"`, "-c", `tui.terminal_title=["project-name"]`}
	if got := titles("codex", map[string]string{}).Args; !slices.Equal(got, want) {
		t.Errorf("codex: arguments %q, want %q", got, want)
	}
	if err := os.WriteFile(settings, []byte("[tui]\nterminal_title = [\"thread-title\"]\n"), 0o600); err != nil {
		t.Fatalf("settings of Codex: %v", err)
	}
	if got := titles("codex", map[string]string{}).Args; !slices.Equal(got, want[:2]) {
		t.Errorf("codex, whose user has chosen a title: arguments %q, want %q", got, want[:2])
	}
}
