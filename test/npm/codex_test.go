package npm_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// codex runs the real Codex with its built-in provider, of which only the base URL is set.
func (w *fixture) codex(t *testing.T, url string) string {
	t.Helper()
	for _, a := range agents {
		if a.name == "codex-socket" {
			got := a.ask(t, url, time.Minute)
			if got.err != nil {
				t.Errorf("codex: %v, want an answer; it printed %s", got.err, got.words())
			}
			return strings.TrimSpace(got.out)
		}
	}
	panic("no codex")
}

// overloads is the failure that ends a turn of Codex: a 200 whose stream says that the model is at capacity.
func overloads(times int) (replies []simulator.Reply) {
	body := "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n" +
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"service_unavailable_error\",\"code\":\"server_is_overloaded\",\"message\":\"Selected model is at capacity.\"}}\n\n"
	for range times {
		replies = append(replies, simulator.Status{Code: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body})
	}
	return replies
}

func TestCodex_BuiltInProviderIsHeldOnItsSocket(t *testing.T) {
	w := newFixture(t, hurried(), simulator.Script{Replies: overloads(3)})
	var sockets, posts atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") != "":
			sockets.Add(1)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
			posts.Add(1)
		}
		w.gateway.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	if got := w.codex(t, front.URL); got != answer {
		t.Errorf("codex printed %q, want %q", got, answer)
	}
	if sockets.Load() != 1 || posts.Load() != 0 {
		t.Errorf("Codex opened %d sockets and sent %d POSTs, want one socket and none", sockets.Load(), posts.Load())
	}
	if n := len(w.provider.Requests()); n != 4 {
		t.Errorf("the provider was asked %d times, want 4: three overloads and the answer", n)
	}
}

func TestCodex_FallsBackToPOSTOn426(t *testing.T) {
	w := newFixture(t, hurried(), simulator.Script{Replies: overloads(2)})
	upstreams := gateway.Defaults()
	for i := range upstreams {
		upstreams[i].Base, upstreams[i].NoSocket = w.upstream, true
	}
	if err := w.gateway.Use(gateway.Config{Upstreams: upstreams, Policy: hurried()}); err != nil {
		t.Fatalf("Use: %v", err)
	}
	if got := w.codex(t, w.url); got != answer {
		t.Errorf("codex printed %q, want %q", got, answer)
	}
}
