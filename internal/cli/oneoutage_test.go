package cli_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// Ten clients of the gateway, ten conversations and a council of one process meet an outage: it is one incident of one upstream with
// one notice, and each face profits from the probes of the other.
func TestServe_GatewayAndConversationsHaveOneOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the end of an outage")
	}
	t.Parallel()
	const each, lasts = 10, 20 * time.Second
	provider := simulator.New(simulator.Script{Outages: []simulator.Outage{{To: lasts}}})
	upstream := httptest.NewServer(provider)
	t.Cleanup(func() { upstream.Close(); _ = provider.Close() })
	told, dir := newReceiver(t, 200), t.TempDir()
	file := write(t, dir, "c.yaml", "upstreams: {anthropic: {url: '"+upstream.URL+"', key: none}}\n"+
		"notices: {after: 1s, to: {pager: {kind: webhook, url: '"+told.URL+"'}}}\n")
	s := start(t, "serve", "--listen", "127.0.0.1:0", "--config", file, "--data", dir)
	base := s.waitForLog(t, "listening")["url"].(string)
	for n := range each {
		id := fmt.Sprint("c", n)
		if status, text := call(t, "POST", base+"/-/conversations", `{"id":"`+id+`","model":"claude-opus-4-5"}`); status != 201 {
			t.Fatalf("create conversation: %d %s, want 201", status, text)
		}
		if status, text := call(t, "POST", base+"/-/conversations/"+id+"/turns", `{"text":"hello","id":"t1"}`); status != 202 {
			t.Fatalf("start turn: %d %s, want 202", status, text)
		}
	}
	var calls sync.WaitGroup
	for n := range each {
		calls.Go(func() {
			body := fmt.Sprintf(`{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"call %d"}]}`, n)
			if status, text := call(t, "POST", base+"/v1/messages", body); status != 200 {
				t.Errorf("call %d: %d %s, want 200", n, status, text)
			}
		})
	}
	calls.Go(func() { // its members have two tries each, and give up
		status, text := call(t, "POST", base+"/-/councils", `{"models":["claude-opus-4-5","claude-opus-4-5"],"question":"hello"}`)
		if status != 200 || !strings.Contains(text, `"type":"council-end"`) {
			t.Errorf("council: %d %s, want 200 and an end", status, text)
		}
	})
	calls.Wait()
	for n := range each {
		if _, text := call(t, "GET", fmt.Sprint(base, "/-/conversations/c", n, "/events?until=sealed"), ""); !strings.Contains(text, `"status":"done"`) {
			t.Errorf("conversation %d is not answered: %s", n, text)
		}
	}
	all := provider.Requests()
	failed := 0
	for _, r := range all {
		if r.Outcome != "ok" {
			failed++
		}
	}
	t.Logf("%d requests in an outage of %v, %d in all", failed, lasts, len(all))
	if failed > 60 || len(all) != failed+2*each {
		t.Errorf("%d requests in the outage and %d in all, want at most 60 and one for each of %d callers after it", failed, len(all), 2*each)
	}
	_, incidents := call(t, "GET", base+"/-/incidents", "")
	if n := strings.Count(incidents, `"upstream":"anthropic"`); n != 1 || strings.Contains(incidents, "conversations:") {
		t.Errorf("incidents: %s, want one, of anthropic", incidents)
	}
	_, upstreams := call(t, "GET", base+"/-/upstreams", "")
	if strings.Contains(upstreams, "conversations:anthropic") {
		t.Errorf("upstreams: %s, want one name", upstreams)
	}
	if got := told.requests(); len(got) != 1 || !strings.Contains(got[0], `"event":"began"`) {
		t.Errorf("notices: %q, want one, of the begin", got)
	}
}
