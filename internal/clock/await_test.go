package clock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

func TestGroup_EndsWithTheLastOneOrTheContext(t *testing.T) {
	errLate := errors.New("too late")
	for takes, want := range map[time.Duration]error{0: nil, time.Second: nil, time.Minute: errLate} {
		synctest.Test(t, func(t *testing.T) {
			var all sync.WaitGroup
			all.Go(func() { time.Sleep(takes) })
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errLate)
			defer cancel()
			began := time.Now()
			err := clock.Await(ctx, &all)
			if took := time.Since(began); !errors.Is(err, want) || took != min(takes, 2*time.Second) {
				t.Errorf("Group of %v: got %v after %v, want %v", takes, err, took, want)
			}
			all.Wait()
		})
	}
}
