package display_test

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/turn"
)

func Example() {
	w := display.Of(turn.Retry{Fault: &fault.Error{Kind: fault.Overloaded, Status: 529}, Attempt: 0, Limit: 10})
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	fmt.Println(w.Line(4200*time.Millisecond, now, 80))
	fmt.Println(w.Line(4200*time.Millisecond, now, 40))
	fmt.Println(display.ASCII(w.Line(0, now, 40)))
	fmt.Println(display.Recovered(3, 22*time.Second))
	// Output:
	// ▲ Server overloaded — retrying in 5s… (attempt 1/10) • Press Ctrl+C to cancel
	// ▲ overloaded · 5s · 1/10 · ^C
	// ! overloaded - now - 1/10 - ^C
	// ✓ Recovered after 3 retries (waited 22s)
}
