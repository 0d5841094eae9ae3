package retry

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/fault"
)

// heldBound is how many parts are held back at the most. An answer that brings
// so many without content is committed as it is.
const heldBound = 1024

// Stream is Do for an answer that arrives in parts. content tells whether a
// part is something that the caller would see as an answer; parts before the
// first such part are held back, so that a try that fails before it leaves no
// trace. From the first content on the answer is committed: the parts are
// handed on as they come, and a failure is the last thing yielded.
//
// The sequence yields at most one error, last, of the kinds that Do returns.
// Breaking off releases everything. Ranging again makes a new run.
func Stream[T any](
	ctx context.Context, e Retrier, content func(T) bool,
	open func(ctx context.Context, n int) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r := run{engine: e}
		r.begin(ctx)
		for {
			s := sink[T]{run: &r, content: content, yield: yield}
			f := s.attempt(open)
			if f == nil {
				return
			}
			if err := r.failed(f, s.committed); err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}

// sink takes the parts of one try.
type sink[T any] struct {
	run       *run
	content   func(T) bool
	yield     func(T, error) bool
	pass      gatePass
	held      []T
	committed bool
}

// attempt hands on the parts of one try. It returns nil when the answer has
// ended or the reader has broken off.
func (s *sink[T]) attempt(open func(context.Context, int) iter.Seq2[T, error]) (f *fault.Error) {
	ctx, cancel := s.run.bounded()
	defer cancel()
	s.pass, f = s.run.enter(ctx)
	if f != nil {
		return f
	}
	defer s.pass.abandon()
	for part, err := range open(ctx, s.run.Tries+1) {
		if err != nil {
			f = s.run.classify(ctx, err)
			s.pass.leave(f)
			return f
		}
		if !s.take(part) {
			return nil
		}
	}
	s.commit()
	return nil
}

// take holds a part back or hands it on; false: the reader has broken off.
func (s *sink[T]) take(part T) bool {
	if !s.committed && !s.content(part) && len(s.held) < heldBound {
		s.held = append(s.held, part)
		return true
	}
	return s.commit() && s.yield(part, nil)
}

// commit hands on what was held back; false: the reader has broken off.
func (s *sink[T]) commit() bool {
	if s.committed {
		return true
	}
	s.committed = true
	s.pass.leave(nil)
	s.run.tell(nil, "")
	for _, part := range s.held {
		if !s.yield(part, nil) {
			return false
		}
	}
	s.held = nil
	return true
}
