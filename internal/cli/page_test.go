package cli_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// visit returns the answer to a request that a browser makes.
func visit(t *testing.T, url, accept string) (status int, header http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatalf("create request: %v", err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("send request: %v", err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read all: %v", err)
	}
	return resp.StatusCode, resp.Header, string(all)
}

func TestServe_LogsPageWithoutToken(t *testing.T) {
	s := startIn(t, []string{"RIDETHROUGH_TOKEN=s3cret-s3cret-s3cret"}, "serve", "--listen", "127.0.0.1:0", "--data", "none")
	url := s.waitForLog(t, "page")["url"].(string)
	if !strings.HasSuffix(url, "/-/ui/") || strings.Contains(url, "s3cret-s3cret-s3cret") {
		t.Errorf("logged page %s, want a path /-/ui/ and no token", url)
	}
	if status, header, text := visit(t, strings.TrimSuffix(url, "-/ui/"), "text/html"); status != 200 || header.Get("Content-Security-Policy") == "" || !strings.Contains(text, "<html") {
		t.Errorf("page: got %d %v, want 200, a policy and HTML", status, header)
	}
	if status, _, text := visit(t, strings.TrimSuffix(url, "ui/")+"live", "text/event-stream"); status != 401 {
		t.Errorf("page without the token: %d %s", status, text)
	}
}

func TestServe_HistorySurvivesRestart(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", "529,529,529,ok")
	upstream := provider.waitForLog(t, "simulating a provider")["url"].(string)
	dir := t.TempDir()
	file := write(t, dir, "c.yaml", "policy: {backoff: [10ms], retries: 9}\nupstreams: {anthropic: {url: "+upstream+"}}\n")
	serve := func() (process, string) {
		s := start(t, "serve", "--listen", "127.0.0.1:0", "--config", file, "--data", filepath.Join(dir, "data"))
		return s, s.waitForLog(t, "listening")["url"].(string)
	}
	first, base := serve()
	if status, text := call(t, "POST", base+"/v1/messages", `{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`); status != 200 {
		t.Fatalf("post message: %d %s, want 200", status, text)
	}
	_, _, policies := visit(t, base+"/-/policies", "application/json")
	for _, want := range []string{`"name":"patient","source":"preset","usedBy":[]`, `"name":"policy of conversations","source":"configuration","usedBy":["conversations","anthropic"],"sentence":"9 retries, 90ms of waiting. It gives up`} {
		if !strings.Contains(policies, want) {
			t.Errorf("no %s in %s", want, policies)
		}
	}
	const held = `"tries":4,"failures":3,"calls":1,"held":1,"lost":0`
	for end := time.Now().Add(30 * time.Second); ; { // the incident appears a little later
		_, _, incidents := visit(t, base+"/-/incidents", "application/json")
		if strings.Contains(incidents, held) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("incidents do not contain %s: %s", held, incidents)
		}
	}
	if code := first.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if info, err := os.Stat(filepath.Join(dir, "data", "history.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history file: got %v and error %v, want mode 0600", info, err)
	}
	_, base = serve()
	if _, _, incidents := visit(t, base+"/-/incidents", "application/json"); !strings.Contains(incidents, held) {
		t.Errorf("incidents after the restart do not contain %s: %s", held, incidents)
	}
	if _, _, one := visit(t, base+"/-/upstreams/anthropic", "application/json"); !strings.Contains(one, `"state":"operational"`) || !strings.Contains(one, `"calls":1,"outages":1`) {
		t.Errorf("upstream after the restart: %s, want it operational with one call and one outage", one)
	}
}
