package history_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// pass tells of a request that arrived, waited for so long, and was then answered at once.
func (w *world) pass(id int64, added, took time.Duration) {
	now := time.Now()
	c := w.call(id, "m")
	c.Began = now.Add(-added - took)
	w.Watch(&gateway.Event{At: c.Began, Call: c, Event: turn.Start{}})
	w.Watch(&gateway.Event{At: now, Call: c, Try: retry.Try{N: 1, Start: now.Add(-took), Took: took}})
	w.Watch(&gateway.Event{At: now, Call: c, Event: turn.Sealed{Status: turn.Done}, Status: 200})
}

// near reports whether a measured time is as precise as its histogram.
func near(got, want time.Duration) bool { return got > want*96/100 && got < want*104/100 }

func TestTraffic_IsTheLastHourAndDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		time.Sleep(30 * time.Second)
		for i := range 20 {
			took := time.Second
			if i >= 18 {
				took = 8 * time.Second
			}
			w.pass(int64(i), 100*time.Millisecond, took)
		}
		w.try(21, "m", 0, busy)
		w.try(22, "m", 0, &fault.Error{Kind: fault.Auth, Status: 401})
		w.try(23, "m", 0, &fault.Error{Kind: fault.Canceled})
		time.Sleep(time.Minute)
		hour, day := w.Traffic("work", time.Now())
		if hour.Step != time.Minute || len(hour.Steps) != history.Minutes || day.Step != history.CellTime || len(day.Steps) != history.Cells {
			t.Fatalf("spans: got %d of %v and %d of %v, want 60 minutes and 96 quarters", len(hour.Steps), hour.Step, len(day.Steps), day.Step)
		}
		for name, got := range map[string]history.Step{"minute": hour.Steps[58], "hour": hour.All, "quarter": day.Steps[95], "day": day.All} {
			if got.Requests != 20 || got.OK != 20 || got.Failed != 1 || len(got.Kinds) != 2 || got.Kinds[0].Kind != fault.Overloaded || got.Kinds[1].Kind != fault.Auth {
				t.Errorf("%s: got %+v, want 20 requests, 20 answers, 1 failure, and faults of 2 kinds", name, got)
			}
			if !near(got.First, time.Second) || !near(got.FirstMost, 8*time.Second) || !near(got.Added, 100*time.Millisecond) || !near(got.AddedMost, 100*time.Millisecond) {
				t.Errorf("%s: first token %v and %v, added %v and %v; want 1s, 8s, 100ms, 100ms", name, got.First, got.FirstMost, got.Added, got.AddedMost)
			}
		}
		if now := hour.Steps[59]; now.Requests+now.OK+len(now.Kinds) != 0 {
			t.Errorf("current minute: got %+v, want nothing", now)
		}
		time.Sleep(time.Hour)
		if hour, _ = w.Traffic("work", time.Now()); hour.All.Requests != 0 || hour.All.Kinds != nil {
			t.Errorf("an hour later: got %+v, want nothing", hour.All)
		}
	})
}

// A minute's memory is that of one an hour before: nothing of it may be left.
func TestTraffic_PeriodsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.pass(1, time.Second, time.Second)
		w.fail(2, "m")
		time.Sleep(time.Hour)
		w.pass(3, time.Millisecond, 10*time.Millisecond)
		hour, _ := w.Traffic("work", time.Now())
		if a := hour.All; a.Requests != 1 || a.OK != 1 || a.Failed != 0 || a.Kinds != nil || !near(a.FirstMost, 10*time.Millisecond) || a.AddedMost != time.Millisecond {
			t.Errorf("an hour later: got %+v, want one quick answer", a)
		}
	})
}

func TestTraffic_UnknownUpstreamIsEmpty(t *testing.T) {
	w := newWorld(t, "")
	hour, day := w.Traffic("unknown", time.Now())
	if len(hour.Steps) != history.Minutes || len(day.Steps) != history.Cells || hour.All.Requests != 0 {
		t.Errorf("unknown upstream: got %d and %d steps, %+v", len(hour.Steps), len(day.Steps), hour.All)
	}
}

// outage has calls wait through a row of failures, each for so long.
func (w *world) outage(from int64, calls int, lasts time.Duration) {
	for i := range calls {
		w.fail(from+int64(i), "m")
	}
	for range 3 {
		w.fail(from, "m")
	}
	time.Sleep(lasts)
	for i := range calls {
		w.recover(from+int64(i), "m", 3, lasts)
	}
}

func TestHeld_CountsWhatWasRiddenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		check := func(when string, want history.Held) {
			t.Helper()
			if got := w.Held(time.Now()); got != want {
				t.Errorf("%s: got %+v, want %+v", when, got, want)
			}
		}
		check("at first", history.Held{})
		time.Sleep(time.Hour)
		w.outage(1, 4, 30*time.Minute)
		want := history.Held{Calls: 4, Retries: 12, Waited: 2 * time.Hour, Outage: 30 * time.Minute, Since: 90 * time.Minute}
		check("after an outage", want)
		w.fail(9, "m") // and once more outside of any incident
		time.Sleep(30 * time.Minute)
		w.recover(9, "m", 1, 30*time.Minute)
		want = history.Held{Calls: 5, Retries: 13, Waited: 2*time.Hour + 30*time.Minute, Outage: 30 * time.Minute, Since: 2 * time.Hour}
		check("after a blip", want)
		w.keep()
		w = newWorld(t, path)
		check("after a restart", want)
		for range 3 {
			w.fail(10, "m")
		}
		time.Sleep(10 * time.Minute)
		w.end(10, "m") // nothing was ridden out
		want.Since += 10 * time.Minute
		check("after an outage in which all was lost", want)
		time.Sleep(23*time.Hour + 30*time.Minute)
		check("a day later", history.Held{Calls: 1, Retries: 1, Waited: 30 * time.Minute, Since: 23*time.Hour + 55*time.Minute})
		time.Sleep(24 * time.Hour)
		check("two days later", history.Held{Since: 23*time.Hour + 55*time.Minute})
	})
}

func TestHeld_CountsTheSameTimeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		there := func(id int64, f *fault.Error, e turn.Event) {
			c := w.call(id, "m")
			c.Upstream = "other"
			v := gateway.Event{At: time.Now(), Call: c, Event: e}
			if e == nil {
				v.Try = retry.Try{N: 1, Start: time.Now(), Fault: f}
			}
			w.Watch(&v)
		}
		for range 3 {
			w.fail(1, "m")
		}
		time.Sleep(10 * time.Minute)
		for range 3 {
			there(2, busy, nil)
		}
		there(2, nil, turn.Retry{})
		time.Sleep(10 * time.Minute)
		w.recover(1, "m", 3, 20*time.Minute)
		time.Sleep(10 * time.Minute)
		there(2, nil, nil)
		there(2, nil, turn.Recovered{Retries: 3, Waited: 20 * time.Minute})
		if got := w.Held(time.Now()); got.Outage != 30*time.Minute || got.Calls != 2 || got.Waited != 40*time.Minute {
			t.Errorf("two outages of 20m, 10m of them together: got %+v, want 30m in all", got)
		}
	})
}

func ExampleHistory_Traffic() {
	h := history.Open("", nil)
	now := time.Date(2026, time.November, 2, 15, 3, 0, 0, time.UTC)
	c := gateway.Call{ID: 1, Upstream: "anthropic", Model: "opus", Stream: true, Began: now.Add(-5 * time.Second)}
	h.Watch(&gateway.Event{At: c.Began, Call: c, Event: turn.Start{}})
	h.Watch(&gateway.Event{At: now, Call: c, Try: retry.Try{N: 2, Start: now.Add(-time.Second), Took: time.Second}})
	hour, _ := h.Traffic("anthropic", now)
	fmt.Println(hour.All.Requests, hour.All.First.Round(100*time.Millisecond), hour.All.Added.Round(time.Second))
	// Output: 1 1s 4s
}
