//go:build !race

package gateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
)

// raced reports whether the race detector is on.
const raced = false

// callers is how many share an outage.
const callers = 1000

// A request that is answered at once, as most are, costs no allocation more if its events are watched.
func TestOnEvent_AllocatesNothing(t *testing.T) {
	measure := func(onEvent func(gateway.Event)) float64 {
		g := newGateway(t, gateway.Config{Upstreams: everything(address("provider.test")), Base: says(200, messageStart+messageHi+messageStop), OnEvent: onEvent})
		return testing.AllocsPerRun(200, func() {
			g.ServeHTTP(&recorder{header: map[string][]string{}}, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(claude)))
		})
	}
	var last gateway.Event
	if without, with := measure(nil), measure(func(e gateway.Event) { last = e }); with > without+0.5 || last.Status != 200 {
		t.Errorf("allocations: %v with OnEvent, want %v as without; status %d, want 200", with, without, last.Status)
	}
}
