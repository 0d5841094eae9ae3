package gateway_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// TestEvent_SentAgainOnANewConnectionIsNoRetry is about an upstream that closes a kept connection at the next request,
// as one does that is restarted: what it gets is what the events count.
func TestEvent_SentAgainOnANewConnectionIsNoRetry(t *testing.T) {
	t.Run("plain HTTP", func(t *testing.T) { sentAgainIsNoRetry(t, (*httptest.Server).Start) })
	t.Run("TLS", func(t *testing.T) { sentAgainIsNoRetry(t, (*httptest.Server).StartTLS) })
}

func sentAgainIsNoRetry(t *testing.T, start func(*httptest.Server)) {
	var got atomic.Int64
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got.Add(1) == 2 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, messageStart+messageHi+messageStop)
	}))
	start(up)
	defer up.Close()
	network := gateway.Network{}
	if c := up.Certificate(); c != nil {
		network.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	tries, resent, retries := 0, 0, 0
	g := newGateway(t, gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "anthropic", API: "anthropic", Base: base, Network: network}},
		Policy:    policy.Patient(),
		OnEvent: func(e gateway.Event) {
			if e.Try.N > 0 {
				tries++
			}
			if e.Resent {
				resent++
			}
			if _, ok := e.Event.(turn.Retry); ok {
				retries++
			}
		},
	})
	for range 2 {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(claude)))
		if w.Code != 200 || !strings.Contains(w.Body.String(), "message_stop") {
			t.Errorf("answer %d %s, want one", w.Code, w.Body)
		}
	}
	if tries != 2 || resent != 1 || retries != 0 || int(got.Load()) != tries+resent {
		t.Errorf("%d tries, %d sent again, %d retries, and the upstream got %d; want 2, 1, 0 and their sum", tries, resent, retries, got.Load())
	}
}
