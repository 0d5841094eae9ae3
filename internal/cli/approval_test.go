package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serveProcess starts `serve` as a process of its own, and returns the address of its conversations. kill ends it
// as kill -9 does.
func serveProcess(t *testing.T, env []string, args ...string) (url string, kill func()) {
	t.Helper()
	cmd := exec.Command("ridethrough", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), append(env, awake)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start serve: %v", err)
	}
	lines, ended := bufio.NewScanner(stderr), make(chan struct{})
	kill = func() { _ = cmd.Process.Kill(); <-ended }
	t.Cleanup(kill)
	for lines.Scan() {
		var line struct{ Msg, URL string }
		if _ = json.Unmarshal(lines.Bytes(), &line); line.Msg == "listening" {
			url = line.URL
			break
		}
	}
	go func() {
		defer close(ended)
		for lines.Scan() { // it must be read
		}
		_ = cmd.Wait()
	}()
	if url == "" {
		t.Fatal("serve has ended")
	}
	return url + "/-/conversations", kill
}

// polled asks until an answer has a text.
func polled(t *testing.T, url, want string) (text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if _, text = call(t, "GET", url, ""); strings.Contains(text, want) {
			return text
		}
	}
	t.Fatalf("GET %s: got %s, want %s within a minute", url, text, want)
	return ""
}

func TestServe_PendingApprovalSurvivesKill(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", `call:mcp__test__note{"text":"hello"},say:"Noted."`)
	env := []string{
		"ANTHROPIC_BASE_URL=" + provider.waitForLog(t, "simulating a provider")["url"].(string), "ANTHROPIC_API_KEY=test",
		"XDG_DATA_HOME=" + t.TempDir(), "HOME=" + t.TempDir(), "RIDETHROUGH_CONFIG=",
	}
	file := withTools(t, "approval-time: 1h")
	note := filepath.Join(filepath.Dir(file), "note")
	url, kill := serveProcess(t, env, "--config", file)
	polled(t, url, `"conversations":[]`)
	if status, text := call(t, "POST", url, `{"id":"c1","model":"claude-opus-4-5","agent":"coder"}`); status != 201 {
		t.Fatalf("create conversation: %d %s, want 201", status, text)
	}
	if status, text := call(t, "POST", url+"/c1/turns", `{"text":"note it"}`); status != 202 {
		t.Fatalf("start turn: %d %s, want 202", status, text)
	}
	polled(t, url+"/c1/approvals", "mcp__test__note")
	kill()
	url, kill = serveProcess(t, env, "--config", file)
	pending := polled(t, url+"/c1/approvals", "mcp__test__note")
	if _, err := os.Stat(note); err == nil {
		t.Error("the tool has run without an answer")
	}
	_, id, _ := strings.Cut(pending, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if status, text := call(t, "POST", url+"/c1/approvals/"+id, `{"decision":"allow-once"}`); status != 202 {
		t.Fatalf("allow the call: %d %s, want 202", status, text)
	}
	kill() // wherever the turn is
	url, _ = serveProcess(t, env, "--config", file)
	polled(t, url+"/c1/events?until=sealed", `"type":"turn-sealed"`)
	_, events := call(t, "GET", url+"/c1/events?until=sealed", "")
	for _, kind := range []string{"approval-requested", "approval-answered", "tool-call", "tool-result", "turn-sealed"} {
		if n := strings.Count(events, `"type":"`+kind+`","conv`); n != 1 {
			t.Errorf("events of the type %s: got %d, want 1, in %s", kind, n, events)
		}
	}
	if !strings.Contains(events, `"status":"done"`) {
		t.Errorf("events: got %s, want a turn that is done", events)
	}
	ran, unknown := strings.Contains(events, `"output":"noted"`), strings.Contains(events, "whether it has taken effect is not known")
	if text, err := os.ReadFile(note); ran && string(text) != "hello\n" || ran == unknown {
		t.Errorf("the call: got ran %t, unknown %t and the note %q, %v, want one of them", ran, unknown, text, err)
	}
}
