package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/natstest"
)

// call sends a JSON request and returns the status and the body.
func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatalf("create request: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("send request: %v", err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// The provider is down when the first server ends. The second one continues its
// turn.
func TestServe_ConversationSurvivesRestart(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", `529,say:"Here I am."`)
	env := []string{"ANTHROPIC_BASE_URL=" + provider.waitForLog(t, "simulating a provider")["url"].(string), "XDG_DATA_HOME=" + t.TempDir()}
	serve := func() (process, string) {
		s := startIn(t, env, "serve", "--listen", "127.0.0.1:0")
		return s, s.waitForLog(t, "listening")["url"].(string) + "/-/conversations"
	}
	first, url := serve()
	if status, text := call(t, "POST", url, `{"id":"c1","model":"claude-opus-4-5"}`); status != 201 {
		t.Fatalf("create conversation: %d %s, want 201", status, text)
	}
	if status, text := call(t, "POST", url+"/c1/turns", `{"text":"hello","id":"t1"}`); status != 202 {
		t.Fatalf("start turn: %d %s, want 202", status, text)
	}
	provider.waitForLog(t, "request")
	polled(t, url+"/c1", `"wait"`)
	if code := first.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	_, url = serve()
	_, text := call(t, "GET", url+"/c1", "")
	var c struct{ TurnID string }
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.TurnID != "t1" {
		t.Errorf("conversation: got %s and error %v, want the turn t1 in progress", text, err)
	}
	if status, text := call(t, "POST", url+"/c1/now", ""); status != 202 {
		t.Errorf("retry now: %d %s, want 202", status, text)
	}
	_, text = call(t, "GET", url+"/c1/events?until=sealed", "")
	for _, want := range []string{`"text":"Here I am."`, `"status":"done","retryCount":1`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestServe_DataDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	first := start(t, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "a"))
	if got := first.waitForLog(t, "conversations")["data"]; got != filepath.Join(dir, "a") {
		t.Errorf("logged data directory %v, want %s", got, filepath.Join(dir, "a"))
	}
	unwanted := startIn(t, []string{"XDG_DATA_HOME=" + dir}, "serve", "--listen", "127.0.0.1:0", "--data", "none")
	url := unwanted.waitForLog(t, "listening")["url"].(string)
	if status, text := call(t, "GET", url+"/-/conversations", ""); status != 404 {
		t.Errorf("GET conversations with --data none: %d %s, want 404", status, text)
	}
	for _, c := range []struct{ env, args, log, want string }{
		{"XDG_DATA_HOME=" + file, "", "conversations are off: cannot open their store", "not a directory"},
		{"", "--data=" + filepath.Join(dir, "a"), "conversations are off until their store can be opened", "the store is in use"},
	} {
		s := startIn(t, strings.Fields(c.env), append([]string{"serve", "--listen", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
		url := s.waitForLogs(t, "listening", c.log)["listening"]["url"].(string)
		for path, status := range map[string]int{"conversations": 503, "readyz": 200, "warnings": 200} {
			if got, text := call(t, "GET", url+"/-/"+path, ""); got != status || !strings.Contains(text, c.want) {
				t.Errorf("%v: GET %s: got %d %s, want %d and %q", c, path, got, text, status, c.want)
			}
		}
		s.stop()
	}
}

// A gateway without conversations answers what is asked about them.
func TestServe_AnswersBeforeTheFirstConversation(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, []string{"ANTHROPIC_API_KEY=k"}, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	url := s.waitForLogs(t, "listening", "conversations are available")["listening"]["url"].(string) + "/-/"
	for path, want := range map[string]int{"conversations": 200, "conversations/c1": 404, "readyz": 200, "warnings": 200, "metrics": 200, "": 200} {
		if status, text := call(t, "GET", url+path, ""); status != want || strings.Contains(text, "unavailable") {
			t.Errorf("GET %q without conversations: got %d %s, want %d", path, status, text, want)
		}
	}
	if status, text := call(t, "POST", url+"conversations", `{"id":"c1","model":"claude-opus-4-5"}`); status != 201 {
		t.Errorf("create conversation: got %d %s, want 201", status, text)
	}
	if status, text := call(t, "GET", url+"conversations", ""); status != 200 || !strings.Contains(text, `"c1"`) {
		t.Errorf("GET conversations: got %d %s, want c1", status, text)
	}
}

func TestServe_TakesTheStoreOverWhenItIsFree(t *testing.T) {
	t.Parallel()
	data := "--data=" + t.TempDir()
	first := start(t, "serve", "--listen", "127.0.0.1:0", data)
	first.waitForLog(t, "conversations are available")
	second := start(t, "serve", "--listen", "127.0.0.1:0", data)
	const off = "conversations are off until their store can be opened"
	url := second.waitForLogs(t, "listening", off)["listening"]["url"].(string)
	first.stop()
	second.waitForLog(t, "conversations are available")
	if status, text := call(t, "GET", url+"/-/conversations", ""); status != 200 {
		t.Errorf("GET conversations: got %d %s, want 200", status, text)
	}
}

// The gateway does not wait for the servers of its conversations, and uses them once they are there.
func TestServe_StartedWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	port := natstest.Ports(t, 1)[0]
	s := start(t, "serve", "--listen", "127.0.0.1:0", "--nats", natstest.URL(port))
	url := s.waitForLogs(t, "listening", "conversations are off until their store can be opened")["listening"]["url"].(string)
	for path, want := range map[string]int{"livez": 200, "readyz": 200, "conversations": 503} {
		if status, text := call(t, "GET", url+"/-/"+path, ""); status != want {
			t.Errorf("GET %s without NATS: got %d %s, want %d", path, status, text, want)
		}
	}
	o := natstest.Options(t.TempDir())
	o.Port = port
	natstest.Run(t, o)
	other := start(t, "serve", "--listen", "127.0.0.1:0", "--nats", natstest.URL(port))
	s.waitForLog(t, "conversations are available")
	if status, text := call(t, "GET", url+"/-/conversations", ""); status != 200 {
		t.Errorf("GET conversations with NATS: got %d %s, want 200", status, text)
	}
	for {
		line := s.waitForLog(t, "fleet")
		if line["replicas"] == 2.0 {
			break
		}
	}
	if status, text := call(t, "GET", url+"/-/", ""); status != 200 || !strings.Contains(text, `"fleet":{"name":"main",`) || !strings.Contains(text, `"connected":true`) {
		t.Errorf("GET /-/ of one of two gateways with NATS: got %d %s, want the fleet main, connected", status, text)
	}
	if _, text := call(t, "GET", url+"/-/metrics", ""); !strings.Contains(text, "ridethrough_fleet_replicas 2\n") || !strings.Contains(text, "ridethrough_fleet_connected 1\n") {
		t.Errorf("metrics of one of two gateways with NATS: want 2 replicas and the connection in\n%s", text)
	}
	other.stop()
	if code := s.stop(); code != 0 {
		t.Errorf("serve exits with %d, want 0", code)
	}
}
