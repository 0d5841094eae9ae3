package llmtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm"
)

// errLeft is the caller's cause for leaving.
var errLeft = errors.New("the caller has left")

// leaving tests callers that leave early, repeat a request, or are many.
func (s Suite) leaving(t *testing.T) {
	s.going(t)
	s.coming(t)
}

// going tests callers that leave: they get their own cause.
func (s Suite) going(t *testing.T) {
	s.each(t, "before the question", "ok", func(r *room) {
		ctx, leave := context.WithCancelCause(r.Context())
		leave(errLeft)
		if h := r.ask(ctx, say("Hi")); h.err != errLeft || len(h.parts) > 0 {
			r.Errorf("%#v, %v", h.parts, h.err)
		}
		r.asked(0)
	})
	for _, reply := range []string{"silence", "drip:1h"} {
		s.each(t, "before the first word: "+reply, reply, func(r *room) {
			ctx, stop := context.WithTimeoutCause(r.Context(), time.Minute, errLeft)
			defer stop()
			begun := time.Now()
			if h := r.ask(ctx, say("Hi")); h.err != errLeft || len(h.parts) > 0 || time.Since(begun) != time.Minute {
				r.Errorf("%#v, %v after %v", h.parts, h.err, time.Since(begun))
			}
			r.asked(1)
		})
	}
	s.each(t, "between two words", "drip:40s", func(r *room) {
		ctx, stop := context.WithTimeoutCause(r.Context(), time.Minute, errLeft)
		defer stop()
		h := r.ask(ctx, say("Hi"))
		if h.err != errLeft || !r.whole && h.Content().Text() != "one " {
			r.Errorf("%#v, %v", h.parts, h.err)
		}
		r.asked(1)
	})
	s.each(t, "at a deadline", "silence", func(r *room) {
		ctx, stop := context.WithTimeout(r.Context(), time.Minute)
		defer stop()
		if h := r.ask(ctx, say("Hi")); h.err != context.DeadlineExceeded {
			r.Errorf("%#v", h.err)
		}
	})
}

// coming tests callers that break off, repeat a request, or are many.
func (s Suite) coming(t *testing.T) {
	s.each(t, "by breaking off", `drip:1h, say:a+call:now, ok`, func(r *room) {
		for range 3 {
			for range r.model.Stream(r.Context(), llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}, NoStream: r.whole}) {
				break
			}
			synctest.Wait()
			if n := r.wire.open(); n > 0 {
				r.Errorf("%d responses are left open", n)
			}
		}
		r.asked(3)
	})
	s.each(t, "and coming again", "ok*2", func(r *room) {
		q := say("Hi")
		q.NoStream = r.whole
		answer := r.model.Stream(r.Context(), q)
		r.asked(0)
		for range 2 {
			var c llm.Collector
			for p, err := range answer {
				if err != nil {
					r.Error(err)
				}
				c.Add(p)
			}
			if c.Content().Text() != "one two three" {
				r.Errorf("%#v", c.Content())
			}
		}
		r.asked(2)
	})
	s.each(t, "many at once", "say:a, say:b, say:c, 529, say:d, cut:0, say:e, say:f", func(r *room) {
		said, failed := r.together(8)
		if len(said) != 6 || failed != 2 {
			r.Errorf("%v, and %d have failed", said, failed)
		}
		r.asked(8)
	})
}

// together sends n requests at once and returns the texts, each once, and how many have failed.
func (r *room) together(n int) (said map[string]bool, failed int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	said = map[string]bool{}
	for range n {
		all.Go(func() {
			h := r.ask(r.Context(), say("Hi"))
			mu.Lock()
			defer mu.Unlock()
			if h.err != nil {
				failed++
				return
			}
			said[h.Content().Text()] = true
		})
	}
	all.Wait()
	return said, failed
}
