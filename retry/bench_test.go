package retry_test

import (
	"context"
	"testing"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

func answer(context.Context, int) (int, error) { return 42, nil }

func BenchmarkDo(b *testing.B) {
	e, ctx := retry.Retrier{Policy: policy.Patient()}, b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := retry.Do(ctx, e, answer); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareCall is the baseline of BenchmarkDo.
func BenchmarkBareCall(b *testing.B) {
	ctx, call := b.Context(), answer
	b.ReportAllocs()
	for b.Loop() {
		if _, err := call(ctx, 1); err != nil {
			b.Fatal(err)
		}
	}
}
