package transport

import (
	"context"
	"sync"
	"sync/atomic"
)

// tryContext is the context of a try. It ends with the caller's, or when a limit expires. One like any other is made of
// it only if its end is waited for in another way than with AfterFunc, as package internal/http1 does.
type tryContext struct {
	context.Context // the caller's

	mu     sync.Mutex
	after  func()      // AfterFunc was given; nil: nothing
	unlink func() bool // keeps the end of the caller's context from calling it
	like   context.Context
	cancel context.CancelCauseFunc
	made   atomic.Bool // like and cancel are set
	ended  bool
}

// AfterFunc is [context.AfterFunc] of it.
func (c *tryContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.after != nil {
		return context.AfterFunc(c.make(), f)
	}
	c.after, c.unlink = f, context.AfterFunc(c.Context, f)
	return c.stop
}

// stop keeps what AfterFunc was given from being called. It reports whether it does.
func (c *tryContext) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop()
}

// drop is stop. mu is held.
func (c *tryContext) drop() bool {
	if c.after == nil {
		return false
	}
	c.after = nil
	return c.unlink()
}

// end ends it with a cause; nil: none.
func (c *tryContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cause != nil || c.made.Load() {
		c.make()
		c.cancel(cause)
	}
	c.ended = true
	if after := c.after; c.drop() {
		go after()
	}
}

// make returns one like any other. mu is held.
func (c *tryContext) make() context.Context {
	if !c.made.Load() {
		if c.like, c.cancel = context.WithCancelCause(c.Context); c.ended {
			c.cancel(nil)
		}
		c.made.Store(true)
	}
	return c.like
}

// Done implements context.Context.
func (c *tryContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.make().Done()
}

// Err implements context.Context.
func (c *tryContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.made.Load():
		return c.like.Err()
	case c.ended:
		return context.Canceled
	}
	return c.Context.Err()
}

// Value implements context.Context.
func (c *tryContext) Value(key any) any {
	if c.made.Load() {
		return c.like.Value(key)
	}
	return c.Context.Value(key)
}
