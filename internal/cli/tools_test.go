package cli_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withTools writes a configuration with an agent that has file tools and an MCP server, and returns its path.
func withTools(t *testing.T, rules string) (file string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"folder/notes.txt": "buy milk", "folder/deep/more.txt": "and bread", "secret": "the secret", "mark": "marked\n",
		"config.yaml": "mcp:\n  test:\n    command: mcpserver\n    dir: .\n    env: {MARK: {file: mark}}\n" +
			"agents:\n  coder:\n    files: folder\n    mcp: [test]\n    " + rules + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatalf("make directory: %v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	return filepath.Join(dir, "config.yaml")
}

// serveWithTools starts a simulator and a server with a configuration. It returns the address of the conversations.
func serveWithTools(t *testing.T, file, replies string) (url string) {
	t.Helper()
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", replies)
	env := []string{"ANTHROPIC_BASE_URL=" + provider.waitForLog(t, "simulating a provider")["url"].(string), "XDG_DATA_HOME=" + t.TempDir()}
	return startIn(t, env, "serve", "--listen", "127.0.0.1:0", "--config", file).waitForLog(t, "listening")["url"].(string) + "/-/conversations"
}

// say has a conversation answer, and returns its events.
func say(t *testing.T, url, settings string) (events string) {
	t.Helper()
	status, text := call(t, "POST", url, `{"model":"claude-opus-4-5"`+settings+`}`)
	id, _, _ := strings.Cut(strings.TrimPrefix(text, `{"id":"`), `"`)
	if status != 201 {
		t.Fatalf("create conversation with %s: %d %s, want 201", settings, status, text)
	}
	if status, text := call(t, "POST", url+"/"+id+"/turns", `{"text":"hello"}`); status != 202 {
		t.Fatalf("start turn: %d %s, want 202", status, text)
	}
	_, events = call(t, "GET", url+"/"+id+"/events?until=sealed", "")
	return events
}

func TestServe_ConversationUsesTheToolsOfItsAgent(t *testing.T) {
	const calls = `call:read_file{"path":"notes.txt"}+call:read_file{"path":"../secret"}+call:mcp__test__add{"a":2,"b":3}+call:mcp__test__note{"text":"x"},say:"Milk."`
	file := withTools(t, "deny: [mcp__test__note]")
	url := serveWithTools(t, file, strings.Repeat(calls+",", 3)+"ok")
	for _, tt := range []struct {
		settings   string
		want, lack []string
	}{
		{`,"agent":"coder"`, []string{"buy milk", "outside the folder", "the sum is 5", "the configuration denies this tool", `"status":"done"`}, []string{"the secret", "noted"}},
		{`,"agent":"coder","dir":"deep"`, []string{"no such file", "the sum is 5"}, []string{"buy milk"}},
		{"", []string{`there is no tool named \"read_file\"`, `there is no tool named \"mcp__test__add\"`, `"status":"done"`}, []string{"buy milk", "the sum is"}},
	} {
		events := say(t, url, tt.settings)
		for _, part := range tt.want {
			if !strings.Contains(events, part) {
				t.Errorf("events of a conversation with %q: got %s, want %s in them", tt.settings, events, part)
			}
		}
		for _, part := range tt.lack {
			if strings.Contains(events, part) {
				t.Errorf("events of a conversation with %q: got %s, want no %s in them", tt.settings, events, part)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "note")); err == nil {
		t.Error("a denied tool has run")
	}
	for settings, want := range map[string]string{
		`,"agent":"codre"`:                "unknown agent", // with a suggestion
		`,"dir":"deep"`:                   "no agent with files",
		`,"agent":"coder","dir":"../x"`:   "want one below the agent's files",
		`,"agent":"coder","dir":"absent"`: "absent",
	} {
		if status, text := call(t, "POST", url, `{"model":"claude-opus-4-5"`+settings+`}`); status != 400 || !strings.Contains(text, want) {
			t.Errorf("create conversation with %s: got %d %s, want 400 and %q", settings, status, text, want)
		}
	}
}

// The agent of the configuration is the same one for a command.
func TestRun_UsesTheToolsOfAnAgent(t *testing.T) {
	file := withTools(t, `allow: ["mcp__test__*"]`)
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", `call:read_file{"path":"notes.txt"}+call:mcp__test__note{"text":"hello"},say:"Milk."`)
	env := []string{"ANTHROPIC_BASE_URL=" + provider.waitForLog(t, "simulating a provider")["url"].(string), "HOME=" + t.TempDir()}
	code, out, errs := run(t, env, "run", "--config", file, "--agent", "coder", "-m", "claude-opus-4-5", "--json", "hello")
	if code != 0 || !strings.Contains(out, "buy milk") || !strings.Contains(out, "noted") {
		t.Errorf("run --agent: got code %d, %s and %s, want 0 and the results", code, out, errs)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "note")); string(text) != "hello\n" {
		t.Errorf("what the server wrote in its directory: got %q, %v, want hello", text, err)
	}
}

func TestServe_MCPServerIsTriedAgain(t *testing.T) {
	file := withTools(t, `allow: ["*"]`)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	more := strings.Replace(string(text), "agents:", "  gone: {url: 'http://127.0.0.1:1/mcp', policy: {backoff: [10ms], retries: 2}}\nagents:", 1)
	if err := os.WriteFile(file, []byte(strings.Replace(more, "[test]", "[test, gone]", 1)), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	url := serveWithTools(t, file, `call:mcp__test__die,call:mcp__test__add{"a":2,"b":3},say:"Five."`)
	if status, text := call(t, "POST", url, `{"id":"c1","model":"claude-opus-4-5","agent":"coder"}`); status != 201 {
		t.Fatalf("create conversation: %d %s, want 201", status, text)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/c1/turns", strings.NewReader(`{"text":"hello"}`))
	if err != nil {
		t.Fatalf("create request: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("send request: %v", err)
	}
	defer resp.Body.Close()
	events, _ := io.ReadAll(resp.Body)
	for _, want := range []string{
		`"type":"mcp-retry","conversationId":"c1"`, `"server":"gone","attempt":1,"delayMs":10`, // the turn begins without it
		"the server has ended: exit status 3; whether the call has taken effect is not known", "the sum is 5", `"status":"done"`,
	} {
		if !strings.Contains(string(events), want) {
			t.Errorf("events: got %s, want %s in them", events, want)
		}
	}
}
