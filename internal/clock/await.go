package clock

import (
	"context"
	"sync"
)

// Await returns when all of a group are done, or when ctx ends, with its cause. Its own goroutine ends with the last
// of the group.
func Await(ctx context.Context, all *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { defer close(done); all.Wait() }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
