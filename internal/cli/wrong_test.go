package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// misplaced is an error that the built-in rules read as one that passes. It quotes the prompt and a key.
const misplaced = `{"error":{"message":"The model 'gpt-9' is not placed on this host: my prompt, sk-abc123def456ghi","code":"model_misplaced","type":"server_error"}}`

func TestServe_FollowsACorrectedReadingAtOnce(t *testing.T) {
	var asked atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, misplaced)
	}))
	defer upstream.Close()
	dir := t.TempDir()
	path := write(t, dir, "c.yaml", "listen: 127.0.0.1:0\nfaults: own/rows.yaml\n"+
		"upstreams: {relay: {api: openai, url: "+upstream.URL+", policy: {backoff: [1ms], retries: 2}}}\n")
	gateway := start(t, "serve", "--config", path)
	base := gateway.waitForLog(t, "listening")["url"].(string)
	gateway.waitForLog(t, "point your clients here")
	tries := func(prompt string) int64 {
		t.Helper()
		before := asked.Load()
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"`+prompt+`"}]}`))
		if err != nil {
			t.Fatalf("post: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return asked.Load() - before
	}
	if n := tries("one"); n != 3 {
		t.Errorf("before the correction the upstream was asked %d times, want 3", n)
	}
	if _, body := get(t, base+"/-/warnings"); !strings.Contains(body, "rows.yaml does not exist") {
		t.Errorf("warnings: %s, want that the file is missing", body)
	}

	code, out, errs := explain(t, misplaced, "--config", path, "--status", "503", "--provider", "relay", "--wrong", "invalid")
	rows := filepath.Join(dir, "own", "rows.yaml")
	text, err := os.ReadFile(rows)
	if code != 0 || err != nil || !strings.Contains(out, `text: "The model * is not placed on this host"`) {
		t.Fatalf("explain --wrong: code %d, %s%s, %v", code, out, errs, err)
	}
	for _, secret := range []string{"gpt-9", "prompt", "sk-"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the row has %q in it:\n%s", secret, text)
		}
	}
	if n := tries("two"); n != 1 {
		t.Errorf("after the correction the upstream was asked %d times, want once", n)
	}
	if _, body := get(t, base+"/-/warnings"); !strings.Contains(body, `"warnings":[]`) {
		t.Errorf("warnings: %s, want none", body)
	}
	_, out, _ = explain(t, misplaced, "--config", path, "--status", "503", "--provider", "relay", "--why")
	if !strings.Contains(out, "> your row says invalid, 100 % sure (rows.yaml:3)") {
		t.Errorf("explain --why:\n%s\nwant the row and its file", out)
	}

	write(t, filepath.Join(dir, "own"), "rows.yaml", "- kind: nonsense\n")
	if n := tries("three"); n != 1 {
		t.Errorf("with a mistake in the file the upstream was asked %d times, want once: the rows before stay", n)
	}
	if _, body := get(t, base+"/-/warnings"); !strings.Contains(body, "rows.yaml:1:9") {
		t.Errorf("warnings: %s, want the mistake with its line", body)
	}
	write(t, filepath.Join(dir, "own"), "rows.yaml", "")
	if n := tries("four"); n < 2 { // the breaker may share a try
		t.Errorf("with no rows the upstream was asked %d times, want that it is asked again", n)
	}
}

func TestExplain_WrongRefusesWhatNoRowCanCorrect(t *testing.T) {
	tests := []struct{ name, input, args, says string }{
		{"an answer", `{"choices":[{"message":{"content":"hi"}}]}`, "--status 200", "an answer and no error"},
		{"an event of an answer", `data: {"choices":[{"delta":{"content":"hi"}}]}`, "", "an answer and no error"},
		{"a status alone", "", "--status 503", "name its upstream"},
		{"a right reading", `{"error":{"message":"no","code":"invalid_api_key"}}`, "--status 401 --wrong auth", "it is auth already"},
		{"no kind", "x", "--wrong nope", "want the right kind"},
	}
	for _, tt := range tests {
		path := write(t, t.TempDir(), "c.yaml", "log: info\n")
		args := append([]string{"--config", path, "--wrong", "invalid"}, strings.Fields(tt.args)...)
		code, out, errs := explain(t, tt.input, args...)
		if code == 0 || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: code %d, %q %q, want %q", tt.name, code, out, errs, tt.says)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "faults.yaml")); err == nil {
			t.Errorf("%s: a file was written", tt.name)
		}
	}
}

func TestExplain_NewestCorrectionWins(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "c.yaml", "log: info\n")
	for _, kind := range []string{"invalid", "quota", "overloaded"} {
		code, _, errs := explain(t, misplaced, "--config", path, "--status", "500", "--wrong", kind)
		_, out, _ := explain(t, misplaced, "--config", path, "--status", "500", "--json")
		if code != 0 || !strings.Contains(out, `"kind":"`+kind+`"`) {
			t.Errorf("code %d, %s%s, want kind %s", code, out, errs, kind)
		}
	}
}

func TestRun_FollowsOwnReadings(t *testing.T) {
	var asked atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, misplaced)
	}))
	defer upstream.Close()
	dir := t.TempDir()
	path := write(t, dir, "c.yaml", "log: info\n")
	write(t, dir, "faults.yaml", "- {kind: invalid, provider: openai, code: model_misplaced}\n")
	env := []string{"OPENAI_BASE_URL=" + upstream.URL, "OPENAI_API_KEY=k", "RIDETHROUGH_OPENAI_API=chat"}
	code, out, errs := run(t, env, "run", "hi", "-m", "openai/m", "--config", path, "--no-save")
	if code == 0 || asked.Load() != 1 {
		t.Errorf("code %d after %d tries: %s%s, want a failure after one", code, asked.Load(), out, errs)
	}
}
