package fault_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func ExampleError_Class() {
	for _, err := range []error{context.DeadlineExceeded, syscall.ETIMEDOUT, errors.New("invalid api key"), errors.New("?")} {
		f := classify.Of(err, time.Now())
		fmt.Println(f.Kind, f.Class(), f.Retryable())
	}
	// Output:
	// timeout timeout true
	// upstream-timeout transient true
	// auth permanent false
	// unknown unknown false
}

func ExampleScrub() {
	fmt.Println(fault.Scrub("Incorrect API key provided: sk-proj-abc123DEF456."))
	// Output: Incorrect API key provided: ***.
}
