package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/turn"
)

// TestTelemetry_NamesAreAsPromised compares the names of all metrics with their labels, and of all spans with their
// attributes and events as a collector reads them, with testdata/names.txt. Dashboards and queries depend on them: a
// line that changes there is a line in CHANGELOG.md.
func TestTelemetry_NamesAreAsPromised(t *testing.T) {
	var got tracepb.TracesData
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.UnmarshalOptions{Merge: true}.Unmarshal(body, &got)
		}
		if err != nil {
			t.Errorf("read an export: %v", err)
		}
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}
	tel := watching(t, telemetry.Config{Version: "v1", Env: func(name string) string { return env[name] }, Dropped: func() int64 { return 0 }})
	tel.ShowFleet(nil)
	tel.ShowWaiting("chat")
	_, end := tel.Group("council", "c1", parent)
	for _, e := range slices.Concat(simulated(t), outage(call), everyStep(call), failing(turnCall)) {
		tel.Watch(&e)
	}
	end(turn.Failed)
	if err := tel.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}

	var lines []string
	for _, f := range tel.Families() {
		lines = append(lines, strings.Join(append([]string{f.Kind, f.Name}, f.Labels...), " "))
	}
	slices.Sort(lines)
	want, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	lines = append(lines, spanNames(&got)...)
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), lines); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// simulated returns the events of a request during an outage of a simulated provider.
func simulated(t *testing.T) (events []gateway.Event) {
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(simulator.Script{Outages: []simulator.Outage{{To: 10 * time.Second}}})
		defer provider.Close()
		g, err := gateway.New(gateway.Config{
			Policy: policy.Patient(), Base: provider.Transport(),
			OnEvent: func(e gateway.Event) { events = append(events, e) },
		})
		if err != nil {
			t.Fatalf("new gateway: %v", err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/messages", strings.NewReader(`{"model":"claude","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Traceparent": {parent}}
		g.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("request: %d %s", w.Code, w.Body)
		}
		g.Close()
	})
	return events
}

var turnCall = gateway.Call{ID: -1, Face: "conversation", Turn: "t1", Session: "c1", API: "openai", Upstream: "openai", Model: "large", Stream: true, Began: noon, Parent: parent}

// everyStep is a call to which everything happens that is no fault.
func everyStep(c gateway.Call) []gateway.Event {
	c.ID, c.Model = 18, "steps"
	return told(c,
		gateway.Event{Joined: 7}, gateway.Event{Completed: gateway.Completed{Again: 1}}, gateway.Event{Replayed: 7},
		gateway.Event{Unshared: &gateway.Unshared{Err: errors.New("no room")}}, gateway.Event{Resent: true}, gateway.Event{Detached: true},
		gateway.Event{Crossed: &ratelimit.Crossing{}}, gateway.Event{Queued: &ratelimit.Place{}}, gateway.Event{Admitted: time.Second},
		gateway.Event{Event: turn.Switched{From: "a"}}, gateway.Event{Event: sealed, Status: 200})
}

// failing is a turn that waits once and fails.
func failing(c gateway.Call) []gateway.Event {
	return told(c, gateway.Event{Event: waits(busy, 1, time.Second)}, gateway.Event{Event: fails(busy, policy.Exhausted, 1, time.Second)},
		gateway.Event{Event: turn.Sealed{Status: turn.Failed, Metrics: turn.Metrics{TimeToFirstToken: time.Second}}})
}

// told is a call that begins, and what happens to it, each a second later.
func told(c gateway.Call, all ...gateway.Event) []gateway.Event {
	all = append([]gateway.Event{{Event: turn.Start{}}}, all...)
	for i := range all {
		all[i].Call, all[i].At = c, noon.Add(time.Duration(i)*time.Second)
	}
	return all
}

// spanNames returns a line for the process, and one for each name of a span and of an event in it.
func spanNames(from *tracepb.TracesData) []string {
	all := map[string]map[string]bool{}
	add := func(what string, attributes []*commonpb.KeyValue) {
		if all[what] == nil {
			all[what] = map[string]bool{}
		}
		for _, a := range attributes {
			all[what][a.GetKey()] = true
		}
	}
	for _, r := range from.GetResourceSpans() {
		add("resource", r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeSpans() {
			add(fmt.Sprint("scope ", scope.GetScope().GetName(), " ", scope.GetScope().GetVersion()), nil)
			for _, s := range scope.GetSpans() {
				name := fmt.Sprintf("%v %v %s", s.GetKind(), s.GetStatus().GetCode(), s.GetName())
				add(name, s.GetAttributes())
				for _, e := range s.GetEvents() {
					add(name+", event "+e.GetName()+":", e.GetAttributes())
				}
			}
		}
	}
	var lines []string
	for what, names := range all {
		lines = append(lines, strings.Join(append([]string{what}, slices.Sorted(maps.Keys(names))...), " "))
	}
	slices.Sort(lines)
	return lines
}
