package telemetry_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/turn"
)

func Example() {
	tel, err := telemetry.New(context.Background(), telemetry.Config{Version: "v1.2.3"})
	if err != nil {
		panic(err)
	}
	tel.Watch(&gateway.Event{Event: turn.Start{}, Call: gateway.Call{ID: 1, Upstream: "anthropic", Model: "claude"}})
	w := httptest.NewRecorder()
	tel.ServeHTTP(w, httptest.NewRequest("GET", "/-/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "ridethrough_requests_total") {
			fmt.Print(line)
		}
	}
	// Output: ridethrough_requests_total{face="gateway",model="claude",upstream="anthropic"} 1
}
