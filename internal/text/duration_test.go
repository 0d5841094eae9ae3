package text_test

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

func ExampleDuration() {
	for _, s := range []float64{0, 0.5, 10, 60, 70, 600, 3600, 3610, 4200, 36000, 87000} {
		fmt.Print(text.Duration(time.Duration(s*1000)*time.Millisecond), " ")
	}
	// Output: 0s 500ms 10s 1m 1m10s 10m 1h 1h0m10s 1h10m 10h 24h10m
}

func ExampleLeft() {
	for _, d := range []time.Duration{time.Millisecond, 90 * time.Second, text.Long, text.Long + time.Second, 26 * time.Hour} {
		fmt.Print(text.Left(d), " ")
	}
	// Output: 1s 1m30s 5m 6m 26h
}

func ExamplePassed() {
	for _, d := range []time.Duration{time.Millisecond, 2*time.Second + time.Millisecond, 12600 * time.Millisecond, 90 * time.Second} {
		fmt.Print(text.Passed(d), " ")
	}
	// Output: 1s 2s 13s 1m30s
}

func ExampleExact() {
	fmt.Print(text.Exact(4500123456))
	// Output: 4.5s
}
