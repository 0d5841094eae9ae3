package history_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// report returns the report of the latest incident.
func (w *world) report() string {
	in := w.Incidents(time.Now())[0]
	return in.Report(time.Now())
}

func TestIncident_Report(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for id := range int64(3) {
			w.fail(id, "claude-opus-4-5")
		}
		time.Sleep(38*time.Minute + 400*time.Millisecond)
		text := w.report()
		if !strings.Contains(text, "not yet, after 38m") || !strings.Contains(text, "3 had to wait: 0 answered, 0 not answered, 3 waiting") {
			t.Errorf("incident text: %s", text)
		}
		w.recover(0, "claude-opus-4-5", 3, 38*time.Minute)
		w.recover(1, "claude-opus-4-5", 3, 38*time.Minute)
		w.end(2, "claude-opus-4-5")
		want := `# Incident at work

- **id:** 20000101-000000-work
- **began:** 2000-01-01 00:00:00 UTC
- **ended:** 2000-01-01 00:38:00 UTC, with an answer
- **lasted:** 38m, the time to recovery
- **models:** claude-opus-4-5
- **tries:** 4, of which 3 failed
- **calls:** 3 had to wait: 2 answered, 1 not answered, 0 waiting
- **callers:** 3
- **program:** claude-cli/2.1.329, 3 of the calls

## Faults by kind

| cause | kind | faults | share |
|---|---|---|---|
| server overloaded | overloaded | 3 | 100 % |

## The provider's first message

    HTTP 529: Overloaded
`
		if diff := cmp.Diff(want, w.report()); diff != "" {
			t.Errorf("incident (-want +got)\n%s", diff)
		}
	})
}

func TestIncident_ReportNamesTheOtherGateways(t *testing.T) {
	began := time.Date(2026, 11, 21, 20, 54, 1, 0, time.UTC)
	in := history.Incident{Upstream: "work", Began: began, Ended: began.Add(time.Minute), Elsewhere: []history.Elsewhere{{Replica: "gw-1", Began: began, Calls: 1}, {Replica: "gw-2", Began: began.Add(time.Second), Calls: 12}}}
	want := "- **callers:** 0\n- **also at:** gw-1 since 2026-11-21 20:54:01 UTC, 1 call\n- **also at:** gw-2 since 2026-11-21 20:54:02 UTC, 12 calls\n"
	if got := in.Report(began.Add(time.Hour)); !strings.Contains(got, want) {
		t.Errorf("report: got %s, want it to contain %s", got, want)
	}
}

func TestIncident_ReportDistinguishesNetworkFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		for range 3 {
			w.try(1, "m", 0, &fault.Error{Kind: fault.Unavailable, Code: "ECONNREFUSED"})
		}
		w.try(1, "m", 0, &fault.Error{Kind: fault.Unavailable, Status: 502})
		w.try(1, "m", 0, &fault.Error{Kind: fault.Unavailable, Code: "ECONNREFUSED"})
		w.keep()
		for _, h := range []*world{w, newWorld(t, path)} {
			text := h.report()
			if !strings.Contains(text, "| network | unavailable | 4 | 80 % |\n| server error | unavailable | 1 | 20 % |\n") {
				t.Errorf("incident text: %s", text)
			}
			if got := h.Upstream("work", time.Now()).Cause; got != "network" {
				t.Errorf("got %v, want %s", got, "network")
			}
		}
	})
}
