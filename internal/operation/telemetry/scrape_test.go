package telemetry_test

import (
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// TestMetrics_AScrapeIsAsPromised compares a whole scrape with testdata/scrape.txt: names, help, types, labels and
// values. Dashboards depend on it: a line that changes there is a line in CHANGELOG.md.
func TestMetrics_AScrapeIsAsPromised(t *testing.T) {
	hostile := call
	hostile.Model, hostile.Upstream = "a\xff\"b\\c\n é", "home"
	events := append(outage(call), outage(hostile)...)
	tel := watching(t, telemetry.Config{Version: "v1", Dropped: func() int64 { return 3e9 }}, append(events,
		gateway.Event{Call: call, Event: fails(busy, policy.Exhausted, 0, 0)}, gateway.Event{Call: call, Event: fails(busy, policy.Committed, 0, 0)},
		gateway.Event{Call: call, Event: leaves(nil, 0)}, gateway.Event{Call: call, Event: turn.Switched{}})...)
	tel.Show(board{}, nil)
	want, err := os.ReadFile("testdata/scrape.txt")
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	for range 2 { // the gauges are set anew
		w := httptest.NewRecorder()
		tel.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		got := strings.ReplaceAll(w.Body.String(), runtime.Version(), "go1")
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("scrape (-want +got):\n%s", diff)
		}
	}
}
