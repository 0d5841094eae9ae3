package program_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/program"
	"github.com/ridethrough/ridethrough/internal/lockfile"
)

// output collects what a program writes.
type output struct {
	mu    sync.Mutex
	b     bytes.Buffer
	ready chan struct{} // is closed when the program tells its clients where it is
}

const listens = "point your clients here"

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	had := strings.Contains(o.b.String(), listens)
	defer func() {
		if !had && o.ready != nil && strings.Contains(o.b.String(), listens) {
			close(o.ready)
		}
	}()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// serve runs the gateway on a data directory, sends it a request that its provider is too busy for, ends it, and
// returns its log.
func serve(t *testing.T, dir string) string {
	t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) }))
	defer provider.Close()
	conf := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(conf, []byte("upstreams: {anthropic: {url: '"+provider.URL+"', policy: {backoff: [1ms], retries: 1}}}\n"), 0o600); err != nil {
		t.Fatalf("write the configuration: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log, ended := &output{ready: make(chan struct{})}, make(chan int)
	go func() {
		ended <- program.Gateway().Run(ctx, []string{"serve", "--config", conf, "--listen", "127.0.0.1:0", "--data", dir}, command.Streams{
			Out: log, Err: log, Env: func(string) string { return "" },
		})
	}()
	select {
	case <-log.ready:
	case code := <-ended:
		t.Fatalf("serve: exit code %d; its log:\n%s", code, log)
	}
	base := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(log.String())
	answer, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	answer.Body.Close()
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("serve: exit code %d, want 0; its log:\n%s", code, log)
	}
	return log.String()
}

func TestGateway_KeepsItsHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	serve(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "history.json")); err != nil {
		t.Errorf("after serve: %v, want a history", err)
	}
	if log := serve(t, dir); strings.Contains(log, "data directory") {
		t.Errorf("serve on the same directory warns:\n%s", log)
	}
}

func TestGateway_LeavesTheHistoryOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockfile.Acquire(dir, os.O_CREATE)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	defer lock.Close()
	if log := serve(t, dir); !strings.Contains(log, "another process has the data directory") {
		t.Errorf("serve does not warn:\n%s", log)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 {
		t.Errorf("files %q, want the lock alone", files)
	}
}

func TestGateway_NamesItself(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--version", "ridethrough-gateway version "},
		{"--help", "ridethrough-gateway stands between"},
		{"chat", `ridethrough-gateway: unknown command "chat" for "ridethrough-gateway"`},
	} {
		var out output
		program.Gateway().Run(t.Context(), []string{c.args}, command.Streams{Out: &out, Err: &out})
		if !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%s: got %q, want it to begin with %q", c.args, out.String(), c.want)
		}
	}
}
