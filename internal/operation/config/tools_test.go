package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

func TestParse_MistakesOfTools(t *testing.T) {
	for text, want := range map[string]string{
		"mcp: {a: {}}": "needs either command or url",
		"mcp: {a: {command: x, url: 'https://a.example/'}}":                              "needs either command or url",
		"mcp: {a: {command: x, headers: {A: b}}}":                                        "a program has env",
		"mcp: {a: {url: 'https://a.example/', env: {A: b}}}":                             "for a server with a command",
		"mcp: {a: {command: x, policy: absent}}":                                         `unknown policy "absent"`,
		"mcp: {a.b: {command: x}}":                                                       "letters, digits, - and _",
		"mcp: {a: {command: x, env: {TOKEN: sk-ant-api03-0123456789abcdefghijklmnop}}}":  "looks like a secret",
		"mcp: {a: {command: x, args: [--key, sk-ant-api03-0123456789abcdefghijklmnop]}}": "looks like a secret",
		"mcp: {a: {url: 'https://a.example/', headers: {'A B': c}}}":                     "the name of a header",
		"agents: {a: {mcp: [b]}}":                                                        "there is no section mcp",
		"mcp: {github: {command: x}}\nagents: {a: {mcp: [githab]}}":                      "did you mean github?",
		"agents: {a: {allow: ['[']}}":                                                    "a tool's name or a pattern",
		"agents: {a: {approval-time: 0s}}":                                               "a time above zero",
	} {
		_, err := config.Parse("config.yaml", []byte(text))
		if err == nil || !strings.Contains(config.Excerpts(err), want) {
			t.Errorf("Parse(%s): got %v, want %q", text, err, want)
		} else if strings.Contains(config.Excerpts(err), "0123456789") {
			t.Errorf("Parse(%s) shows the secret: %v", text, config.Excerpts(err))
		}
	}
}

func TestAgent_OfTheFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"key", "work"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("hush\n"), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	text := "mcp:\n  git: {command: ./git-mcp, args: [--port, 80], env: {KEY: {file: key}, LOG: debug}, policy: simple, timeout: 30s}\n  web: {url: 'https://a.example/mcp'}\n" +
		"agents:\n  coder: {files: work, mcp: [git], allow: ['mcp__git__*'], approval-time: 2h}\n  reader: {mcp: [web]}\n"
	c, err := config.Parse(filepath.Join(dir, "config.yaml"), []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", config.Excerpts(err))
	}
	env := func(string) string { return "" }
	a, err := c.Agent("coder", env)
	if err != nil || a.Files != filepath.Join(dir, "work") || !slices.Equal(a.Allow, []string{"mcp__git__*"}) || a.ApprovalTime != 2*time.Hour || len(a.MCP) != 1 {
		t.Fatalf("Agent: got %+v, %v, want that of the file", a, err)
	}
	git := a.MCP[0]
	if git.Command != filepath.Join(dir, "git-mcp") || !slices.Equal(git.Args, []string{"--port", "80"}) || git.Policy.Retries != 3 || git.Timeout != 30*time.Second {
		t.Errorf("MCP server: got %+v, want that of the file", git)
	}
	for i, want := range []string{"KEY=hush", "LOG=debug"} {
		get, err := git.Env[i].Open(env)
		if err != nil {
			t.Fatalf("open %s: %v", want, err)
		}
		if value, err := get(); git.Env[i].Name+"="+value != want || err != nil {
			t.Errorf("variable: got %s=%s, %v, want %s", git.Env[i].Name, value, err, want)
		}
	}
	if r, err := c.Agent("reader", env); err != nil || r.ApprovalTime != 0 || r.MCP[0].Policy.Retries != 10 {
		t.Errorf("Agent with defaults: got %+v, %v, want ten retries", r, err)
	}
	shown := c.Show(false)
	for _, part := range []string{`command: "./git-mcp"`, "LOG: debug", "file: key", "approval-time: 1d", "policy: interactive"} {
		if !strings.Contains(shown, part) {
			t.Errorf("Show: got %s, want %s in it", shown, part)
		}
	}
	wrong := c.Gateway
	if _, err := wrong(env); err == nil || !strings.Contains(config.Excerpts(err), "is not a directory") {
		t.Errorf("Gateway with a file as an agent's files: got %v, want an error", err)
	}
	os.Remove(filepath.Join(dir, "key"))
	if _, err := wrong(env); err == nil || !strings.Contains(config.Excerpts(err), "KEY of git: file") {
		t.Errorf("Gateway with a secret that is not there: got %v, want an error", err)
	}
}
