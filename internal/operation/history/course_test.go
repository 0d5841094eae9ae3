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

// course returns that of the latest incident.
func (w *world) course() history.Course {
	w.t.Helper()
	c, ok := w.Course(w.Incidents(time.Now())[0].ID, time.Now())
	if !ok {
		w.t.Fatal("the latest incident has no course")
	}
	return c
}

func TestHistory_CourseCountsFaultsAndWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		for id := range int64(3) {
			w.fail(id, "opus")
		}
		time.Sleep(20 * time.Second)
		w.try(3, "opus", 0, &fault.Error{Kind: fault.Unavailable, Code: "ECONNREFUSED"})
		w.fail(4, "opus")
		time.Sleep(40 * time.Second)
		w.recover(0, "opus", 1, time.Minute)
		w.recover(1, "opus", 1, time.Minute)
		const busy = "server overloaded"
		want := history.Course{Step: 15 * time.Second, Points: []history.Point{
			{Faults: map[string]int{busy: 3}, Waiting: 3},
			{Faults: map[string]int{busy: 1, "network": 1}, Waiting: 4},
			{Faults: map[string]int{}, Waiting: 4},
			{Faults: map[string]int{}, Waiting: 4},
			{Faults: map[string]int{}, Waiting: 4}, // until two of them are answered in it
		}}
		w.keep()
		for _, w := range []*world{w, newWorld(t, path)} {
			if diff := cmp.Diff(want, w.course()); diff != "" {
				t.Errorf("course (-want +got)\n%s", diff)
			}
		}
		if _, ok := w.Course("none", time.Now()); ok {
			t.Error("an incident that there is not has a course")
		}
	})
}

func TestHistory_CourseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		faults := 0
		for id := range int64(500) {
			w.fail(id%50, "opus")
			faults++
			time.Sleep(time.Minute)
		}
		c := w.course()
		sum, most := 0, 0
		for _, p := range c.Points {
			sum += p.Faults["server overloaded"]
			most = max(most, p.Waiting)
		}
		if len(c.Points) > 120 || c.Step != 8*time.Minute || sum != faults || most != 50 {
			t.Errorf("course of 500 minutes: got %d steps of %v with %d faults and up to %d waiting, want at most 120 of 8m0s with %d and 50",
				len(c.Points), c.Step, sum, most, faults)
		}
	})
}

func TestIncident_Markdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for id := range int64(3) {
			w.fail(id, "opus")
		}
		time.Sleep(time.Minute)
		w.try(3, "opus", 0, &fault.Error{Kind: fault.UpstreamTimeout, Status: 504})
		w.recover(0, "opus", 1, time.Minute)
		got := w.Incidents(time.Now())[0].Markdown(w.course(), time.Now())
		want := strings.ReplaceAll(`# Incident at work

- **id:** 20000101-000000-work
- **began:** 2000-01-01 00:00:00 UTC
- **ended:** 2000-01-01 00:01:00 UTC, with an answer
- **lasted:** 1m, the time to recovery
- **models:** opus
- **tries:** 5, of which 4 failed
- **calls:** 3 had to wait: 1 answered, 0 not answered, 2 waiting
- **callers:** 3
- **program:** claude-cli/2.1.329, 3 of the calls

## Faults by kind

| cause | kind | faults | share |
|---|---|---|---|
| server overloaded | overloaded | 3 | 75 % |
| timeout | upstream-timeout | 1 | 25 % |

## Course, in steps of 15s

| from | faults | calls waiting |
|---|---|---|
| 2000-01-01 00:00:00 UTC | 3 | 3 |
| 2000-01-01 00:01:00 UTC | 1 | 3 |

## The provider's first message

~    HTTP 529: Overloaded
`, "~", "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("incident (-want +got)\n%s", diff)
		}
	})
}
