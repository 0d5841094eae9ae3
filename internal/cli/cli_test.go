package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// run runs a command to its end, with the environment given as NAME=VALUE.
func run(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, command.Streams{Out: &stdout, Err: &stderr, Env: lookup(env)})
	return code, stdout.String(), stderr.String()
}

func lookup(env []string) func(string) string {
	return func(name string) string {
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestCLI_VersionIsACommandToo(t *testing.T) {
	_, want, _ := run(t, nil, "--version")
	if code, out, errs := run(t, nil, "version"); code != 0 || out != want || errs != "" {
		t.Errorf("version: code %d, %q and %q; want what --version prints: %q", code, out, errs, want)
	}
	if code, out, _ := run(t, nil, "help", "exec"); code != 0 || !strings.HasPrefix(out, "exec runs a program") {
		t.Errorf("help exec: code %d, %q; want its help", code, out)
	}
}

func TestCLI_BadInputIsOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer taken.Close()
	busy, empty := taken.Addr().String(), t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("WriteFile: %v", err)
	}
	tests := []struct {
		env  string
		args string
		code int
		says string
	}{
		{"", "serve --verbose", 2, "unknown flag: --verbose (see ridethrough serve --help)"},
		{"", "ride", 2, `unknown command "ride"`},
		{"", "stop", 2, `unknown command "stop" for "ridethrough"; did you mean service uninstall?`},
		{"", "models", 2, "a model is named as PROVIDER/MODEL"},
		{"", "logs", 2, "serve writes its log to standard error"},
		{"", "ps", 2, "did you mean waits, or status?"},
		{"", "init", 2, "did you mean config init?"},
		{"", "help nope", 2, `unknown command "nope" for "ridethrough"`},
		{"", "help service nope", 2, `unknown command "nope" for "ridethrough service"`},
		{"", "sreve", 2, `unknown command "sreve" for "ridethrough"; did you mean serve? (see ridethrough --help)`},
		{"", "config chekc", 2, `unknown command "chekc" for "ridethrough config"; did you mean check?`},
		{"", "completion bsh", 2, "did you mean bash?"},
		{"", "serve --polcy x", 2, "unknown flag: --polcy; did you mean --policy? (see ridethrough serve --help)"},
		{"", "waits retry --al", 2, "did you mean --all?"},
		{"", "serve now", 2, "(see ridethrough serve --help)"},
		{"", "serve --listen 8484", 2, "want HOST:PORT"},
		{"", "serve --listen 0.0.0.0:8484", 78, "the gateway needs a token"},
		{"", "serve --listen :8484", 78, "the gateway needs a token"},
		{"RIDETHROUGH_LISTEN=0.0.0.0:0", "serve", 78, "the gateway needs a token"},
		{"", "serve --config nowhere.yaml", 78, "nowhere.yaml: no such file"},
		{"RIDETHROUGH_CONFIG=nowhere.yaml", "config show", 78, "nowhere.yaml: no such file"},
		{"", "config check nowhere.yaml", 78, "nowhere.yaml: no such file"},
		{"", "config show --log loud", 2, "want a level"},
		{"", "config check a b", 2, "(see ridethrough config check --help)"},
		{"RIDETHROUGH_HOSTS=http://x", "serve", 78, "RIDETHROUGH_HOSTS: \"http://x\"; want a host"},
		{"", "serve --policy forever", 2, "want patient, interactive, attended, worker, simple, council or none"},
		{"", "serve --upstream localhost:8485", 2, "want NAME=URL"},
		{"", "serve --upstream acme=http://127.0.0.1:1", 2, "want anthropic, gemini, openai, cohere, vertex, ollama, lmstudio or bedrock"},
		{"", "serve --upstream openai=127.0.0.1:1", 2, "want a base URL"},
		{"", "serve --upstream openai=http://me:secret@h%zz", 2, "want a base URL"},
		{"", "serve --upstream openai=http://h/?key=secret", 2, "credentials are the client's"},
		{"", "serve --upstream acme=http://me:secret@h", 2, "unknown upstream \"acme\""},
		{"", "serve --upstream http://me:secret@h", 2, "want NAME=URL"},
		{"", "serve --upstream anthropic=http://h/v1/messages", 2, "is an endpoint"},
		{"", "serve --upstream openai=http://me:secret@127.0.0.1:1", 2, "credentials are the client's"},
		{"", "serve --listen " + busy, 1, busy + " is in use"},
		{"", "serve --listen 127.0.0.1:99999", 2, "want HOST:PORT"},
		{"RIDETHROUGH_POLICY=forever", "serve", 78, "RIDETHROUGH_POLICY: unknown policy"},
		{"RIDETHROUGH_LISTEN=8484", "serve", 78, "RIDETHROUGH_LISTEN: "},
		{"RIDETHROUGH_UPSTREAM_OPENAI=ftp://x", "serve", 78, "RIDETHROUGH_UPSTREAM_OPENAI: "},
		{"", "simulator --replies oops", 2, `unknown reply "oops"`},
		{"", "simulator --then oops", 2, `unknown reply "oops"`},
		{"", "simulator --then ok,ok", 2, "want one reply"},
		{"", "simulator --outage 5s", 2, "want FROM-TO"},
		{"", "simulator --limit 5", 2, "want N/DURATION"},
		{"", "serve --listen 127.0.0.1:0 --log-file " + empty + "/no/log", 78, empty + "/no: no such file or directory; create the directory"},
		{"", "serve --listen 127.0.0.1:0 --data " + file, 78, file + ": it is no directory"},
		{"", "serve --listen 127.0.0.1:0 --data " + file + "/data", 78, file + "/data: it is no directory"},
		{"RIDETHROUGH_DATA=" + file, "serve --listen 127.0.0.1:0", 78, file + ": it is no directory"},
		{"", "serve --listen 127.0.0.1:0 --nats http://user:secret@x", 78, "--nats http://…: want the address of a NATS server"},
		{"", "simulator --listen " + busy, 1, busy + " is in use"},
		{"", "chat --data none -m foo", 2, `model "foo": want PROVIDER/MODEL`},
		{"", "run -m foo hi", 2, `model "foo": want PROVIDER/MODEL`},
		{"", "demo loudly", 2, "(see ridethrough demo --help)"},
	}
	for _, tt := range tests {
		code, out, errs := run(t, []string{tt.env}, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(errs, tt.says) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("%s %s: code %d, %q %q; want %d, %q", tt.env, tt.args, code, errs, out, tt.code, tt.says)
		}
		if strings.Contains(errs, "secret") {
			t.Errorf("%s: shows the password", tt.args)
		}
	}
}

func TestCLI_HelpOnStandardOutput(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"serve", "--help"}, {"simulator", "-h"}} {
		code, out, errs := run(t, nil, args...)
		if code != 0 || !strings.Contains(out, "Usage:") || errs != "" {
			t.Errorf("%q: code %d, %q", args, code, errs)
		}
	}
}

// process is a command that runs until its test ends it.
type process struct {
	lines chan map[string]any // its log
	stop  func() int          // ends it and returns its exit code
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	return startIn(t, nil, args...)
}

// startIn starts a command in an environment.
func startIn(t *testing.T, env []string, args ...string) process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code, ended := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(ended)
		code <- cli.Run(ctx, args, command.Streams{Out: io.Discard, Err: w, Env: lookup(env)})
		w.Close()
	}()
	lines := logLines(t, r)
	stop := func() int { cancel(); return <-code }
	t.Cleanup(func() {
		cancel()
		for range lines { // until it has ended, since it must not log after the test
		}
		<-ended
	})
	return process{lines, stop}
}

// logLines returns the lines of a log as they come. Read them to their end before the test ends.
func logLines(t *testing.T, log io.Reader) chan map[string]any {
	lines := make(chan map[string]any, 100)
	go func() {
		for s := bufio.NewScanner(log); s.Scan(); {
			line := map[string]any{}
			if err := json.Unmarshal(s.Bytes(), &line); err != nil {
				t.Errorf("no JSON on a pipe: %q", s.Text())
			}
			lines <- line
		}
		close(lines)
	}()
	return lines
}

// waitForLog waits for the line with a message.
func (s process) waitForLog(t *testing.T, msg string) map[string]any {
	t.Helper()
	return s.waitForLogs(t, msg)[msg]
}

// waitForLogs waits for the lines with several messages, in any order. It returns the last line of each that came
// before all of them were there.
func (s process) waitForLogs(t *testing.T, messages ...string) map[string]map[string]any {
	t.Helper()
	found, logged := map[string]map[string]any{}, []map[string]any{}
	for late := time.After(2 * time.Minute); len(found) < len(messages); {
		select {
		case line, more := <-s.lines:
			if !more {
				t.Fatalf("the command ended with only %d of the messages %q in its log: %v", len(found), messages, logged)
			}
			logged = append(logged, line)
			if msg, _ := line["msg"].(string); slices.Contains(messages, msg) {
				found[msg] = line
			}
		case <-late:
			t.Fatalf("after two minutes only %d of the messages %q are in the log: %v", len(found), messages, logged)
		}
	}
	return found
}

func TestServe_ForwardsAndShutsDown(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", "401")
	upstream := provider.waitForLog(t, "simulating a provider")["url"].(string)
	gateway := start(t, "serve", "--listen", "127.0.0.1:0", "--upstream", "openai="+upstream+"/v1")
	base := gateway.waitForLog(t, "listening")["url"].(string)

	for i, want := range []int{401, 200} {
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatalf("post: %v", err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("request %d: %s %s", i+1, resp.Status, body)
		}
	}
	refused := gateway.waitForLog(t, "request refused")
	if refused["kind"] != "auth" || refused["upstream"] != "openai" || refused["model"] != "m" {
		t.Errorf("logged %v", refused)
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("serve exits with %d", code)
	}
	if code := provider.stop(); code != 0 {
		t.Errorf("simulator exits with %d", code)
	}
}

func TestServe_LogsUnreachableUpstream(t *testing.T) {
	const gone = "http://127.0.0.1:1" // a port that was free could be the gateway's own
	gateway := start(t, "serve", "--listen", "127.0.0.1:0", "--policy", "simple", "--upstream", "openai="+gone)
	base := gateway.waitForLog(t, "listening")["url"].(string)
	go func() { // ends when the gateway does: the test does not wait for the policy's seven seconds
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	line := gateway.waitForLog(t, "provider retry")
	if !strings.Contains(line["error"].(string), "connection refused") || line["attempt"] != 1.0 {
		t.Errorf("logged %v", line)
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d with a request that waits", code)
	}
}

func TestServe_RejectsForeignHosts(t *testing.T) {
	gateway := start(t, "serve", "--listen", "127.0.0.1:0")
	base := gateway.waitForLog(t, "listening")["url"].(string)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8484": 200, "127.0.0.1": 200, "[::1]:8484": 200, "[::1]": 200,
		"LOCALHOST": 200, "localhost.": 200,
		"rebound.example": 421, "127.0.0.1.example": 421, "192.168.1.1:8484": 421,
	} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/", nil)
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("send request: %v", err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, resp.StatusCode, want)
		}
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestSimulator_Flags(t *testing.T) {
	limited := start(t, "simulator", "--listen", "127.0.0.1:0", "--limit", "1/1h", "--then", "html")
	base := limited.waitForLog(t, "simulating a provider")["url"].(string)
	for range 2 {
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatalf("post: %v", err)
		}
		resp.Body.Close()
	}
	for _, want := range []string{"html", "429"} {
		if line := limited.waitForLog(t, "request"); line["reply"] != want {
			t.Errorf("logged %v, want %s", line, want)
		}
	}
	if code := limited.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestSimulator_LogsTheImagesOfARequest(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0")
	base := provider.waitForLog(t, "simulating a provider")["url"].(string)
	body := `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]}`
	resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	resp.Body.Close()
	const want = "image/png of 2 bytes, sha256 8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
	if line := provider.waitForLog(t, "request"); line["images"] != want {
		t.Errorf("logged %v, want the image as %s", line, want)
	}
	if code := provider.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestSimulator_EndlessOutage(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--outage", "0s-=503")
	base := provider.waitForLog(t, "simulating a provider")["url"].(string)
	resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	resp.Body.Close()
	if resp.StatusCode != 503 {
		t.Errorf("status %d in an outage without end", resp.StatusCode)
	}
	if line := provider.waitForLog(t, "request"); line["reply"] != (simulator.Status{Code: 503}).String() {
		t.Errorf("logged %v", line)
	}
	if code := provider.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
