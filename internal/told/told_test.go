package told_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/told"
)

func ExampleIn() {
	here := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	there := here.Add(3 * time.Minute) // a clock that is wrong
	fmt.Println(told.Time(told.In(here.Add(time.Second), here), there).Sub(there))
	// Output: 1s
}

func TestIn_TellsNowFromNever(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if d := told.In(now, now); told.Time(d, now).IsZero() {
		t.Errorf("the present moment: told as %v, want a time", d)
	}
	if d := told.In(time.Time{}, now); d != 0 || !told.Time(d, now).IsZero() {
		t.Errorf("no time: told as %v, want 0", d)
	}
}

func TestTold_TimesAreWithinAMonth(t *testing.T) {
	const month = 31 * 24 * time.Hour
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ told, duration, in time.Duration }{
		{time.Hour, time.Hour, time.Hour}, {-time.Hour, 0, -time.Hour}, {math.MaxInt64, month, month}, {math.MinInt64, 0, -month},
	} {
		f := (&told.Fault{Wait: c.told, Resets: c.told}).Error("fleet", now)
		if got, in := told.Duration(c.told), told.Time(c.told, now).Sub(now); got != c.duration || in != c.in || f.Wait != got || f.ResetAt.Sub(now) != in {
			t.Errorf("%v was told: got the duration %v, a time in %v, and a fault with %v and %v; want %v and %v",
				c.told, got, in, f.Wait, f.ResetAt.Sub(now), c.duration, c.in)
		}
	}
}

func TestFault_ReturnsByAnotherClock(t *testing.T) {
	here := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	there := here.Add(-time.Hour)
	f := &fault.Error{
		Kind: fault.RateLimited, Status: 429, Code: "rate_limit_error", Message: strings.Repeat("a", 40), Wait: time.Minute,
		ResetAt: here.Add(time.Hour), Window: true, Retries: 3, Body: "hello", Rule: "status/429",
	}
	want := &fault.Error{
		Kind: fault.RateLimited, Status: 429, Code: "rate_limit_error", Message: told.NewFault(f, 10, here).Message, Wait: time.Minute,
		ResetAt: there.Add(time.Hour), Window: true, Retries: 3, Rule: "fleet",
	}
	if diff := cmp.Diff(want, told.NewFault(f, 10, here).Error("fleet", there)); diff != "" || len(want.Message) > 14 {
		t.Errorf("a fault by another clock, message %q (-want +got):\n%s", want.Message, diff)
	}
	if got := told.NewFault(nil, 10, here).Error("fleet", there); got != nil {
		t.Errorf("no fault: got %v", got)
	}
}
