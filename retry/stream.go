package retry

import (
	"context"
	"errors"
	"iter"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// maxHeld is how many parts are held back at most. An answer with as many parts
// and no content is committed as it is.
const maxHeld = 1024

// Stream is Do for an answer that arrives in parts. content reports whether a
// part is something that the caller would see as an answer. Parts before the
// first such part are held back, so that a try that fails earlier leaves no
// trace. With the first content the answer is committed: from there on parts
// are yielded as they come, and a failure ends the sequence.
//
// The sequence yields at most one error, last, of the kinds that Do returns.
// Breaking off releases everything. Ranging again makes a new run.
func Stream[T any](
	ctx context.Context, r Retrier, content func(T) bool,
	open func(ctx context.Context, n int) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return StreamWithRest(ctx, r, content, open, func() Rest[T] { return nil })
}

// Rest opens the rest of an answer that has failed after its first content. It yields the rest alone, and
// is called for each try of it. An error from [Permanent] says that there is no rest.
type Rest[T any] = func(ctx context.Context, n int) iter.Seq2[T, error]

// StreamWithRest is Stream for answers of which the rest can be asked for. resume is called when one fails
// after its first content, and returns what opens the rest; nil: there is no rest, and the failure ends the
// sequence. The policy decides about a failure with a rest as about one before the content. If no try of the
// rest can succeed, the error is the failure that made it necessary.
func StreamWithRest[T any](
	ctx context.Context, r Retrier, content func(T) bool,
	open func(ctx context.Context, n int) iter.Seq2[T, error],
	resume func() Rest[T],
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		run := run{Retrier: r}
		run.begin(ctx)
		err := run.finishWait()
		for open, broken := open, (*fault.Error)(nil); err == nil; {
			s := stream[T]{run: &run, content: content, yield: yield}
			f := s.attempt(open)
			if f == nil {
				return
			}
			committed := s.committed
			if rest := resumeIf(committed, resume); rest != nil {
				open, broken, committed = rest, f, false
			}
			err = endOfRest(run.failed(f, committed), broken)
		}
		var none T
		yield(none, err)
	}
}

// resumeIf calls resume if an answer has failed after its first content.
func resumeIf[T any](committed bool, resume func() Rest[T]) Rest[T] {
	if !committed {
		return nil
	}
	return resume()
}

// endOfRest returns the error that ends a run. Where there is no rest of an answer that was broken, the error
// is that of the answer.
func endOfRest(err error, broken *fault.Error) error {
	end, ok := errors.AsType[*Error](err)
	if !ok || broken == nil || end.Stop != policy.Final {
		return err
	}
	committed := *end
	committed.Last, committed.Stop = broken, policy.Committed
	return &committed
}

// stream takes the parts of one try.
type stream[T any] struct {
	run       *run
	content   func(T) bool
	yield     func(T, error) bool
	permit    permit
	held      []T
	committed bool
}

// attempt yields the parts of one try. It returns nil when the answer has ended
// or the reader has broken off.
func (s *stream[T]) attempt(open func(context.Context, int) iter.Seq2[T, error]) (f *fault.Error) {
	ctx, cancel := s.run.bounded()
	defer cancel()
	s.permit, f = s.run.acquire(ctx)
	if f != nil {
		return f
	}
	defer s.permit.abandon()
	for part, err := range open(ctx, s.run.Tries+1) {
		if err != nil {
			return s.permit.report(s.run.classify(ctx, err))
		}
		if !s.take(part) {
			return nil
		}
	}
	s.commit()
	return nil
}

// take holds a part back or yields it; false: the reader has broken off.
func (s *stream[T]) take(part T) bool {
	if !s.committed && !s.content(part) && len(s.held) < maxHeld {
		s.held = append(s.held, part)
		return true
	}
	return s.commit() && s.yield(part, nil)
}

// commit yields what was held back; false: the reader has broken off.
func (s *stream[T]) commit() bool {
	if s.committed {
		return true
	}
	s.committed = true
	s.permit.report(nil)
	s.run.tell(nil, "")
	for _, part := range s.held {
		if !s.yield(part, nil) {
			return false
		}
	}
	s.held = nil
	return true
}
