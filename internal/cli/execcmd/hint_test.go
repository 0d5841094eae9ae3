package execcmd

import (
	"strings"
	"testing"
)

func TestHints_SayWhatEachProgramNeeds(t *testing.T) {
	t.Setenv("CODEX_HOME", "/elsewhere") // a hint is not for the machine that it is made at
	want := map[string][2]string{
		"claude":          {"~/.claude/settings.json", "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"{url}\"\n  }\n}\n"},
		"codex":           {"~/.codex/config.toml", "openai_base_url = \"{url}/v1\"\n"},
		"gemini":          {"~/.gemini/.env", "GOOGLE_GEMINI_BASE_URL={url}\n"},
		"qwen":            {"~/.qwen/.env", "OPENAI_BASE_URL={url}/v1\n"},
		"cline":           {"", "cline auth -p openai-compatible -b {url}/v1 -k KEY -m MODEL\n"},
		"aider":           {"~/.aider.conf.yml", "openai-api-base: \"{url}/v1\"\n"},
		"another program": {"", "export ANTHROPIC_BASE_URL={url}\nexport GOOGLE_GEMINI_BASE_URL={url}\nexport OPENAI_BASE_URL={url}/v1"},
	}
	seen := map[string]bool{}
	for _, h := range Hints() {
		seen[h.Name] = true
		if w, ok := want[h.Name]; ok && (h.File != w[0] || h.Text != w[1]) {
			t.Errorf("%s: got %q, %q; want %q", h.Name, h.File, h.Text, w)
		}
		if h.Text == "" || !strings.Contains(h.Text, "{url}") {
			t.Errorf("%s: got %q, want the gateway's address in it", h.Name, h.Text)
		}
	}
	for _, program := range append(programs(), "another program") {
		if !seen[program] {
			t.Errorf("no hint for %s", program)
		}
	}
}
