package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// write writes a file into a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	return path
}

func TestConfigCheck_ReportsEveryMistakeWithItsLine(t *testing.T) {
	path := write(t, t.TempDir(), "c.yaml", "listen: 127.0.0.1:0\npolicy: patent\nupstreams:\n  openai:\n    key: sk-secret-1234567890abcdef\n")
	code, out, errs := run(t, nil, "config", "check", path)
	want := "ridethrough: 2 mistakes in the configuration\n" +
		path + ":2:9: unknown policy \"patent\"; did you mean patient?\n" +
		"    2 | policy: patent\n      |         ^\n" +
		path + ":5:10: a secret must not be in the configuration file; want {env: NAME} or {file: PATH}\n" +
		"    5 |     key: …\n      |          ^\n"
	if code != 78 || out != "" || errs != want {
		t.Errorf("code %d, %q\ngot\n%s\nwant\n%s", code, out, errs, want)
	}
	for _, args := range [][]string{{"serve", "--config", path}, {"config", "show", "--config", path}, {"config", "check", "--config", path}} {
		if code, _, errs := run(t, nil, args...); code != 78 || errs != want {
			t.Errorf("%q: code %d, %s", args, code, errs)
		}
	}
}

func TestConfigCheck_MissingKeys(t *testing.T) {
	path := write(t, t.TempDir(), "c.yaml", "policy: {backoff: [1m]}\nupstreams:\n  openai: {key: {env: THE_KEY}}\n")
	code, _, errs := run(t, nil, "config", "check", path)
	if code != 78 || !strings.Contains(errs, path+":3:17: key of openai: environment variable THE_KEY is empty or not set\n") {
		t.Errorf("code %d, %s", code, errs)
	}
	code, out, errs := run(t, []string{"RIDETHROUGH_CONFIG=" + path, "THE_KEY=k"}, "config", "check")
	want := path + ":1:9: warning: this policy never gives up; set retries, max-total-wait or deadline\n" +
		"    1 | policy: {backoff: [1m]}\n      |         ^\n" +
		path + " is valid; policy own, upstreams openai\n"
	if code != 0 || errs != "" || out != want {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
}

func TestConfigCheck_FileIsOptional(t *testing.T) {
	code, out, errs := run(t, []string{"HOME=" + t.TempDir()}, "config", "check")
	if code != 0 || errs != "" || out != "the default configuration is valid; policy patient, upstreams anthropic, gemini, openai, cohere, vertex, ollama, lmstudio, bedrock\n" {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
}

func TestConfigShow_Precedence(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "ridethrough")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	write(t, dir, "config.yaml", "listen: 127.0.0.1:1\npolicy: worker\nlog: warn\nupstreams: {openai: {url: https://a.example/v1}, my-own.one: {api: openai}}\n")
	env := []string{
		"XDG_CONFIG_HOME=" + home, "RIDETHROUGH_POLICY=simple", "RIDETHROUGH_LOG=debug", "RIDETHROUGH_TOKEN=hush",
		"RIDETHROUGH_UPSTREAM_OPENAI=https://b.example/v1", "RIDETHROUGH_UPSTREAM_MY_OWN_ONE=https://c.example/v1",
	}
	code, out, errs := run(t, env, "config", "show", "--origin", "--log", "error", "--upstream", "openai=https://d.example/v1")
	shown := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"listen: 127.0.0.1:1 # config.yaml:1", "policy: simple # RIDETHROUGH_POLICY", "log: error # --log", "memory: 64MiB # default",
		"env: RIDETHROUGH_TOKEN # RIDETHROUGH_TOKEN", "url: https://d.example/v1 # --upstream", "url: https://c.example/v1 # RIDETHROUGH_UPSTREAM_MY_OWN_ONE",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != 0 || errs != "" || strings.Contains(out, "hush") {
		t.Errorf("code %d, %s", code, errs)
	}
}

func TestConfigShow_PolicyFile(t *testing.T) {
	path := write(t, t.TempDir(), "mine.yaml", "preset: patient\nmax-total-wait: 2h\n")
	if code, out, errs := run(t, nil, "config", "show", "--policy", path); code != 0 || !strings.Contains(out, "  max-total-wait: 2h\n") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	write(t, filepath.Dir(path), "mine.yaml", "backoff: [1s]\nretires: 3\n")
	if code, _, errs := run(t, nil, "serve", "--policy", path); code != 78 || !strings.Contains(errs, path+`:2:1: unknown field "retires"; did you mean retries?`) {
		t.Errorf("code %d, %s", code, errs)
	}
}

func TestConfigInit_EqualsDefaults(t *testing.T) {
	code, text, errs := run(t, nil, "config", "init")
	if code != 0 || errs != "" {
		t.Fatalf("code %d, %s", code, errs)
	}
	path := write(t, t.TempDir(), "c.yaml", text)
	_, without, _ := run(t, nil, "config", "show")
	if code, with, errs := run(t, nil, "config", "show", "--config", path); code != 0 || with != without {
		t.Errorf("code %d, %s%s", code, with, errs)
	}
}

func TestConfigSchema_PrintsSchema(t *testing.T) {
	if code, out, errs := run(t, nil, "config", "schema"); code != 0 || errs != "" || out != string(config.Schema()) {
		t.Errorf("code %d, %s", code, errs)
	}
}

// answering starts a provider that answers every request with the same status.
func answering(t *testing.T, status int) (base string) {
	t.Helper()
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(p.Close)
	return p.URL
}

func TestServe_ReloadsConfigAndKeepsItOnMistakes(t *testing.T) {
	first, second := answering(t, http.StatusUnauthorized), answering(t, http.StatusForbidden)
	upstream := func(base string) string { return "listen: 127.0.0.1:0\nupstreams: {openai: {url: " + base + "}}\n" }
	dir := t.TempDir()
	path := write(t, dir, "c.yaml", upstream(first))
	gateway := start(t, "serve", "--config", path)
	base := gateway.waitForLog(t, "listening")["url"].(string)
	gateway.waitForLog(t, "point your clients here")
	answer := func(want int) {
		t.Helper()
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			t.Fatalf("post: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	reload := func() { // without it the file is looked at every second
		t.Helper()
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(syscall.SIGHUP)
		}
		if err != nil {
			t.Fatalf("send SIGHUP: %v", err)
		}
	}
	answer(401)

	write(t, dir, "c.yaml", strings.Replace(upstream(second), "openai", "opnai", 1))
	reload()
	kept := gateway.waitForLog(t, "reload configuration failed, the previous one stays in force")
	if !strings.HasPrefix(kept["error"].(string), `c.yaml:2:20: "opnai" is not the name of an API`) {
		t.Errorf("logged %v", kept)
	}
	answer(401)

	write(t, dir, "c.yaml", upstream(second))
	reload()
	if line := gateway.waitForLog(t, "configuration changed"); line["changes"] != "upstreams.openai.url: "+first+" → "+second {
		t.Errorf("logged %v", line)
	}
	answer(403)

	write(t, dir, "c.yaml", upstream(second)+"policy: none\nhosts: [x.example]\n")
	reload()
	line := gateway.waitForLog(t, "configuration changed, some of it only after a restart")
	if line["restart"] != "hosts: [x.example]" || line["changes"] != "policy: patient → none" {
		t.Errorf("logged %v", line)
	}
	reload()
	gateway.waitForLog(t, "configuration reloaded without changes")
	write(t, dir, "c.yaml", upstream(base))
	reload()
	if line := gateway.waitForLog(t, "reload configuration failed, the previous one stays in force"); !strings.Contains(line["error"].(string), "the gateway's own address") {
		t.Errorf("logged %v", line)
	}
	if err := os.Remove(path); err != nil {
		t.Fatalf("remove: %v", err)
	}
	reload()
	if line := gateway.waitForLog(t, "reload configuration failed, the previous one stays in force"); line["error"] != path+": no such file or directory" ||
		line["fix"] != "run ridethrough config check "+path {
		t.Errorf("logged %v", line)
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServe_TokenAndHostsFromFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "token", "let me in, it is me\n")
	path := write(t, dir, "c.yaml", "listen: 127.0.0.1:0\ntoken: {file: token}\nhosts: [gateway.internal]\nupstreams: {openai: {url: "+answering(t, http.StatusForbidden)+"}}\n")
	gateway := start(t, "serve", "--config", path)
	base := gateway.waitForLog(t, "listening")["url"].(string)
	for _, tt := range []struct {
		host, token string
		want        int
	}{
		{"gateway.internal", "let me in, it is me", 403}, // of the provider
		{"localhost", "let me in, it is me", 403},
		{"localhost", "let me out", 401},
		{"localhost", "", 401},
		{"elsewhere.internal", "let me in, it is me", 421},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			t.Fatalf("create request: %v", err)
		}
		req.Host = tt.host
		if tt.token != "" {
			req.Header.Set("X-Ridethrough-Token", tt.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("send request: %v", err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s %q: status %d, want %d", tt.host, tt.token, resp.StatusCode, tt.want)
		}
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestConfigShow_OriginCoversAgents(t *testing.T) {
	path := write(t, t.TempDir(), "c.yaml", "upstreams:\n  anthropic: {url: https://llm.example, key: {file: k}, policy: simple}\n")
	code, out, errs := run(t, []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1", "OPENAI_API_KEY=k-secret"}, "config", "show", "--origin", "--config", path)
	both := "#   upstreams.anthropic.url: http://127.0.0.1:1  # ANTHROPIC_BASE_URL\n" +
		"#   upstreams.openai.key.env: OPENAI_API_KEY  # OPENAI_API_KEY\n" +
		"#   upstreams.anthropic.key.file: not used  # ANTHROPIC_BASE_URL\n"
	want := "\n# In place of that, conversations and council use:\n" + both +
		"\n# In place of that, run uses:\n#   policy: interactive  # default of run\n" + both +
		"\n# In place of that, chat uses:\n#   policy: attended  # default of chat\n" + both
	if code != 0 || errs != "" || !strings.HasSuffix(out, want) || strings.Contains(out, "k-secret") {
		t.Errorf("code %d, %s\ngot\n%s\nwant at its end\n%s", code, errs, out, want)
	}
	_, out, _ = run(t, []string{"RIDETHROUGH_POLICY=worker"}, "config", "show", "--origin", "--config", path)
	const instead = ":\n#   upstreams.anthropic.policy: not used  # RIDETHROUGH_POLICY\n"
	if want := "\n# In place of that, run uses" + instead + "\n# In place of that, chat uses" + instead; !strings.HasSuffix(out, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", out, want)
	}
	path = write(t, t.TempDir(), "c.yaml", "policy: simple\n")
	if _, out, _ = run(t, nil, "config", "show", "--origin", "--config", path); strings.Contains(out, "In place") {
		t.Errorf("got\n%s\nwant no differences", out)
	}
}
