package history_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/retry"

	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

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
		if got := w.Upstream("work", time.Now()); got.Samples != 1 || got.First != 0 {
			t.Errorf("a whole answer: got %+v, want one answer without a time", got)
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

func TestSaved_CountsWhatWasRiddenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		check := func(when string, want history.Saved) {
			t.Helper()
			if got := w.Upstream("work", time.Now()).Saved; got != want {
				t.Errorf("%s: got %+v, want %+v", when, got, want)
			}
		}
		check("at first", history.Saved{})
		time.Sleep(time.Hour)
		w.outage(1, 4, 30*time.Minute)
		want := history.Saved{Calls: 4, Outages: 1, Retries: 12, Waited: 2 * time.Hour, Since: 90 * time.Minute}
		check("after an outage", want)
		w.fail(9, "m") // and once more outside of any incident
		time.Sleep(30 * time.Minute)
		w.recover(9, "m", 1, 30*time.Minute)
		want = history.Saved{Calls: 5, Outages: 1, Retries: 13, Waited: 2*time.Hour + 30*time.Minute, Since: 2 * time.Hour}
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
		check("a day later", history.Saved{Calls: 1, Retries: 1, Waited: 30 * time.Minute, Since: 23*time.Hour + 55*time.Minute})
		time.Sleep(24 * time.Hour)
		check("two days later", history.Saved{Since: 23*time.Hour + 55*time.Minute})
	})
}

// A quarter's memory is that of one a day before: nothing of it may be left.
func TestUpstream_QuartersAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.try(1, "m", time.Minute, nil)
		w.outage(2, 1, time.Minute)
		time.Sleep(24 * time.Hour)
		w.try(3, "m", 10*time.Millisecond, nil)
		if got := w.Upstream("work", time.Now()); got.Samples != 1 || got.First > 11*time.Millisecond || got.Saved.Calls != 0 {
			t.Errorf("a day later: got %+v, want one quick answer", got)
		}
	})
}
