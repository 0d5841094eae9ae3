package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// receiver is a server that keeps what it is sent.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newReceiver(t *testing.T, status int) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, string(body))
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

func TestNotifyTest_SendsToEachTarget(t *testing.T) {
	well, wrong := newReceiver(t, http.StatusOK), newReceiver(t, http.StatusForbidden)
	path := write(t, t.TempDir(), "c.yaml", "notices:\n  to:\n    team: {kind: slack, url: {env: HOOK}}\n"+
		"    pager: {kind: webhook, url: \""+wrong.URL+"/secret-part\"}\n")
	env := []string{"HOOK=" + well.URL}
	code, out, errs := run(t, env, "notify", "test", "--config", path)
	if code != 1 || !strings.HasPrefix(out, "team (slack): sent\npager (webhook): failed: HTTP 403") || strings.Contains(out+errs, "secret-part") {
		t.Errorf("notify test: exit code %d, %q %q", code, out, errs)
	}
	if code, out, _ := run(t, env, "notify", "test", "team", "--config", path); code != 0 || out != "team (slack): sent\n" {
		t.Errorf("notify test team: exit code %d, %q", code, out)
	}
	if got := well.requests(); len(got) != 2 || !strings.Contains(got[0], "Test of ridethrough") {
		t.Errorf("requests: got %q, want two tests", got)
	}
	if code, _, errs := run(t, env, "notify", "test", "phone", "--config", path); code != 2 || !strings.Contains(errs, `unknown target "phone"; want team, pager`) {
		t.Errorf("notify test phone: exit code %d, %q", code, errs)
	}
	if code, _, errs := run(t, nil, "notify", "test", "--config", write(t, t.TempDir(), "c.yaml", "")); code != 78 || !strings.Contains(errs, "no targets for notices") {
		t.Errorf("notify test without targets: exit code %d, %q", code, errs)
	}
}
