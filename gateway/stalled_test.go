package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// TestKeepalive_StalledClientDelaysNoOther lists the waits while a client reads nothing of its first keepalive.
func TestKeepalive_StalledClientDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		conn, err := w.Client.Transport.(*http.Transport).DialContext(t.Context(), "tcp", "gateway")
		if err != nil {
			t.Fatalf("dial the gateway: %v", err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n\r\n%s", len(claude), claude); err != nil {
			t.Fatalf("write the request: %v", err)
		}
		time.Sleep(11 * time.Second)
		began := time.Now()
		waits := w.gateway.Waits()
		if took := time.Since(began); took > 0 || len(waits) != 1 || !waits[0].Held {
			t.Errorf("list of waits: got %+v after %v, want one that is held, at once", waits, took)
		}
	})
}
