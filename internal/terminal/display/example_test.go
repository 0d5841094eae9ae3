package display_test

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/policy"
)

func Example() {
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	w := policy.Wait{
		Run: policy.Run{Tries: 1}, Limit: 10, Due: now.Add(4200 * time.Millisecond),
		Fault: &fault.Error{Kind: fault.Overloaded, Status: 529},
	}
	fmt.Println(display.WaitLine(w, now, 80))
	fmt.Println(display.WaitLine(w, now, 40))
	fmt.Println(printable.ASCII(display.WaitLine(w, w.Due, 40)))
	fmt.Println(display.Recovered(3, 22*time.Second))
	// Output:
	// ▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel
	// ▲ overloaded · 5s · 1/10 · ^C
	// ! overloaded - now - 1/10 - ^C
	// ✓ Recovered after 3 retries (waited 22s)
}
