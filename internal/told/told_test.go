package told_test

import (
	"fmt"
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
