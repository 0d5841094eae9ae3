package history_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/retry"

	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

func TestUpstream_StripIsTheLastDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		if got := w.Upstream("work", time.Now()); got.Strip != nil || got.Samples != 0 {
			t.Errorf("unknown upstream: got %+v, want no measurements", got)
		}
		w.try(1, "m", time.Second, nil)
		w.fail(2, "m")
		time.Sleep(15 * time.Minute)
		w.recover(2, "m", 1, 15*time.Minute)
		w.fail(3, "m")
		w.end(3, "m")
		time.Sleep(time.Hour)
		got := w.Upstream("work", time.Now())
		if len(got.Strip) != history.Cells || got.Samples != 0 {
			t.Fatalf("cells and samples: got %d and %d, want %d and 0", len(got.Strip), got.Samples, history.Cells)
		}
		about := func(d time.Duration) bool { return d > 970*time.Millisecond && d < 1030*time.Millisecond }
		first, second := got.Strip[90], got.Strip[91]
		if first.OK != 1 || first.Failed != 1 || first.Retried != 0 || !about(first.First) {
			t.Errorf("first cell: got %+v, want one answer and one failure", first)
		}
		if second.OK != 1 || second.Failed != 1 || second.Retried != 1 || second.Lost != 1 {
			t.Errorf("second cell: got %+v, want one of each", second)
		}
		for i, c := range got.Strip {
			if i != 90 && i != 91 && c != (history.Cell{}) {
				t.Errorf("cell %d: got %+v, want an empty one", i, c)
			}
		}
		time.Sleep(24 * time.Hour)
		for i, c := range w.Upstream("work", time.Now()).Strip {
			if c != (history.Cell{}) {
				t.Errorf("a day later: %d: %+v", i, c)
			}
		}
	})
}

func TestUpstream_SlowIsTwiceTheUsualTime(t *testing.T) {
	for _, c := range []struct {
		before, now  int // how many
		usual, takes time.Duration
		slow         bool
	}{
		{20, 5, time.Second, 2100 * time.Millisecond, true},
		{20, 5, time.Second, 1900 * time.Millisecond, false},
		{20, 5, 100 * time.Millisecond, time.Second, false}, // not even a second more
		{20, 4, time.Second, time.Minute, false},            // by chance
		{19, 50, time.Second, time.Minute, false},
		{200, 200, 10 * time.Second, 25 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			for range c.before {
				w.try(1, "m", c.usual, nil)
			}
			time.Sleep(time.Hour)
			for range c.now {
				w.try(1, "m", c.takes, nil)
			}
			got := w.Upstream("work", time.Now())
			if got.Slow != c.slow || got.Samples != c.now {
				t.Errorf("%+v: slow %t: %v, before %v, %d samples", c, got.Slow, got.First, got.Before, got.Samples)
			}
		})
	}
}

func TestUpstream_UnstreamedAnswerHasNoFirstContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		c := w.call(1, "m")
		c.Stream = false
		w.Watch(&gateway.Event{At: time.Now(), Call: c, Try: retry.Try{N: 1, Start: time.Now(), Took: time.Minute}})
		if got := w.Upstream("work", time.Now()).Strip[95]; got != (history.Cell{OK: 1}) {
			t.Errorf("cell of a whole answer: got %+v, want one answer without a time", got)
		}
	})
}

func TestUpstream_MedianIsExactToThreePercent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(100, 1_000_000), 1, 50).Draw(rt, "ms")
		var got time.Duration
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			for _, ms := range all {
				w.try(1, "m", time.Duration(ms)*time.Millisecond, nil)
			}
			got = w.Upstream("work", time.Now()).First
		})
		if want := middle(all); float64(got.Milliseconds()) < 0.965*float64(want) || float64(got.Milliseconds()) > 1.035*float64(want) {
			rt.Errorf("%v: %v, want %d ms", all, got, want)
		}
	})
}

// middle returns the lower one of those in the middle.
func middle(all []int64) int64 {
	for _, candidate := range all {
		below, same := 0, 0
		for _, v := range all {
			if v < candidate {
				below++
			} else if v == candidate {
				same++
			}
		}
		if k := (len(all) + 1) / 2; below < k && below+same >= k {
			return candidate
		}
	}
	return 0
}

func TestSaved_CoversAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		outage := func(calls int64) {
			for id := range calls {
				for range 3 {
					w.fail(id, "m")
				}
			}
			time.Sleep(time.Hour)
			for id := range calls {
				w.recover(id, "m", 3, time.Hour)
			}
		}
		outage(10)
		time.Sleep(3 * 24 * time.Hour)
		outage(4)
		got := w.Upstream("work", time.Now()).Saved
		if want := (history.Saved{Calls: 14, Outages: 2, Retries: 42, Waited: 14 * time.Hour, Since: 3*24*time.Hour + 2*time.Hour}); got != want {
			t.Errorf("saved: got %+v, want %+v", got, want)
		}
		time.Sleep(5 * 24 * time.Hour)
		if got := w.Upstream("work", time.Now()).Saved; got != (history.Saved{Calls: 4, Outages: 1, Retries: 12, Waited: 4 * time.Hour, Since: 7 * 24 * time.Hour}) {
			t.Errorf("saved five days later: got %+v, want the second outage alone", got)
		}
	})
}
