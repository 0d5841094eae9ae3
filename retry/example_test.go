package retry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// flaky fails on its first try.
func flaky(_ context.Context, n int) (string, error) {
	if n == 1 {
		return "", &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	}
	return "forty-two", nil
}

func ExampleDo() {
	p := policy.Simple()
	p.Backoff.Steps = []time.Duration{time.Millisecond}
	answer, err := retry.Do(context.Background(), retry.Retrier{
		Policy: p,
		OnWait: func(w policy.Wait) {
			fmt.Printf("%v: retry %d of %d in %v\n", w.Fault, w.Retry(), w.Limit, w.Verdict.Wait)
		},
	}, flaky)
	fmt.Println(answer, err)
	// Output:
	// HTTP 529: Overloaded: retry 1 of 3 in 1ms
	// forty-two <nil>
}

func ExampleStream() {
	p := policy.Simple()
	p.Backoff.Steps = []time.Duration{time.Millisecond}
	open := func(_ context.Context, n int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			if !yield("role: assistant", nil) {
				return
			}
			if n == 1 { // breaks off before the first content: the caller does not see this try
				yield("", &fault.Error{Kind: fault.Overloaded})
				return
			}
			_ = yield("forty-", nil) && yield("two", nil)
		}
	}
	content := func(part string) bool { return part != "role: assistant" }
	for part, err := range retry.Stream(context.Background(), retry.Retrier{Policy: p}, content, open) {
		fmt.Println(part, err)
	}
	// Output:
	// role: assistant <nil>
	// forty- <nil>
	// two <nil>
}

// Errors of other packages say whether another try is worth it.
func ExampleTransient() {
	r := retry.Retrier{Policy: policy.Policy{Retries: 2}}
	_, err := retry.Do(context.Background(), r, func(context.Context, int) (int, error) {
		return 0, retry.Transient(errors.New("the replica is not ready"))
	})
	fmt.Println(err)
	// Output: gave up after 3 tries in 0s: the replica is not ready
}

func ExamplePermanent() {
	r := retry.Retrier{Policy: policy.Patient()}
	_, err := retry.Do(context.Background(), r, func(context.Context, int) (int, error) {
		return 0, retry.Permanent(errors.New("no such table"))
	})
	fmt.Println(err)
	// Output: no such table
}

// The error of a run that has given up says how it went.
func ExampleError() {
	r := retry.Retrier{Policy: policy.Policy{Retries: 2}}
	_, err := retry.Do(context.Background(), r, func(context.Context, int) (int, error) {
		return 0, &fault.Error{Kind: fault.Overloaded, Status: 529}
	})
	if end, ok := errors.AsType[*retry.Error](err); ok {
		fmt.Println(end.Tries, end.Stop, end.Last.Kind)
	}
	// Output: 3 exhausted overloaded
}

// Code that retries by itself sends once where its caller retries already.
func ExampleNested() {
	_, _ = retry.Do(context.Background(), retry.Retrier{}, func(ctx context.Context, _ int) (int, error) {
		fmt.Println(retry.Nested(ctx))
		return 0, nil
	})
	fmt.Println(retry.Nested(context.Background()))
	// Output:
	// true
	// false
}

// A sleep ends with its context.
func ExampleSleep() {
	ctx, stop := context.WithCancelCause(context.Background())
	stop(errors.New("the user left"))
	fmt.Println(retry.Sleep(ctx, time.Hour))
	// Output: the user left
}
