// Package await waits for goroutines, but not longer than a context lasts. The gateway and the server wait like that
// for their WebSockets, which http.Server.Shutdown does not know, and programs for their workers.
package await

import (
	"context"
	"sync"
)

// Group returns when all of a group are done, or when ctx ends, with its cause. Its own goroutine ends with the last
// of the group.
func Group(ctx context.Context, all *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { defer close(done); all.Wait() }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
