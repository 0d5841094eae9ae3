package gateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
)

// TestGateway_HintsAtABaseURLWithoutItsVersion is about a client that was pointed at the gateway without /v1.
func TestGateway_HintsAtABaseURLWithoutItsVersion(t *testing.T) {
	g := newGateway(t, gateway.Config{Upstreams: everything(address("provider.test")), Base: says(200, "{}")})
	for path, want := range map[string]string{
		"/chat/completions": "the client's base URL lacks /v1: set http://gateway.test/v1",
		"/responses":        "set http://gateway.test/v1",
		"/embeddings":       "set http://gateway.test/v1",
		"/favicon.ico":      "",
	} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("POST", "http://gateway.test"+path, strings.NewReader("{}")))
		if hints := strings.Contains(w.Body.String(), "lacks /v1"); w.Code != 404 || hints != (want != "") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("POST %s: got %d %s, want 404 with %q", path, w.Code, w.Body, want)
		}
	}
}
