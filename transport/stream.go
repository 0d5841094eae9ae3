package transport

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// stream is the body of a streamed answer. It hands on whole frames, with
// their bytes unchanged, and knows whether the answer is complete: one that
// breaks off or ends without its terminator ends in a *fault.Error, never in
// io.EOF, which SDKs would take for the end of a whole answer.
//
// Half a frame at the end of a broken answer is dropped. A frame too large to
// keep is handed on in parts, and from there on the stream is not watched.
type stream struct {
	ahead
	dialect  *dialect.Dialect
	form     dialect.Form
	faults   classify.Classifier
	whole    int          // buf[at:whole] are whole frames, to be handed on
	seen     int          // between whole and here no frame ends
	content  bool         // the first content has been read
	finished bool         // the answer is complete: a clean end may follow
	ended    bool         // it has its terminator, or an error in its place: any end may follow
	failure  *fault.Error // that error; nil: none
	raw      bool         // not watched any more
	spelt    bool         // its failure is a line of its own
}

// Watched is the body of a streamed answer that a Transport has read ahead in.
// It hands on whole frames, and ends in a *fault.Error where the answer breaks
// off.
type Watched interface {
	io.ReadCloser
	// Failure gives the error event that the provider has sent in the stream;
	// nil: none so far. It is for whoever reads, not for another goroutine.
	Failure() *fault.Error
	// Form gives the form in which the answer comes, which need not be the one
	// that was asked for.
	Form() dialect.Form
}

// Form gives the form in which the answer comes.
func (s *stream) Form() dialect.Form { return s.form }

// Failure gives the error event that came in the stream.
func (s *stream) Failure() *fault.Error { return s.failure }

// open reads up to the first content and keeps what it reads. It returns a
// fault if the answer fails before. opened is told once when the answer has begun
// and its content is not there yet; nil: nobody.
func (s *stream) open(opened func()) *fault.Error {
	for {
		for frame := s.next(); frame != nil; frame = s.next() {
			sign := s.note(frame)
			if sign == dialect.Opening {
				continue
			}
			s.content = true
			s.noteRest()
			switch sign {
			case dialect.Failure:
				return s.failure
			case dialect.End: // a terminator alone is no answer
				s.ended = false
				return s.faults.Broken(nil, time.Now())
			}
			return nil
		}
		switch {
		case s.err != nil:
			return s.cause()
		case len(s.buf) >= aheadBound:
			s.raw = true
			return nil
		case s.whole > 0 && opened != nil:
			opened()
			opened = nil
		}
		s.fill(aheadBound)
	}
}

// Read hands on whole frames.
func (s *stream) Read(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	for s.at == s.whole && !s.raw {
		if s.err != nil {
			err := s.end()
			if s.spell(err) {
				break
			}
			s.drop()
			s.at, s.whole = 0, 0
			return 0, err
		}
		s.advance()
	}
	if s.raw {
		return s.ahead.Read(p)
	}
	n := copy(p, s.buf[s.at:s.whole])
	s.at += n
	return n, nil
}

// spell puts what breaks a stream of lines off into a line of its own, once:
// Ollama's client takes no notice of an error that ends a body, and would show
// a short answer as a whole one.
func (s *stream) spell(err error) bool {
	f, failed := errors.AsType[*fault.Error](err)
	if !failed || f.Kind == fault.Canceled || s.form != dialect.Lines || s.spelt {
		return false
	}
	s.spelt = true
	s.drop()
	s.buf = s.dialect.ErrorEvent(s.form, f, f.Error(), true)
	s.at, s.whole, s.seen = 0, len(s.buf), len(s.buf)
	return true
}

// advance reads once from the source.
func (s *stream) advance() {
	rest := copy(s.buf, s.buf[s.whole:])
	s.buf, s.at, s.seen, s.whole = s.buf[:rest], 0, s.seen-s.whole, 0
	if rest >= aheadBound {
		s.raw = true
		return
	}
	s.fill(aheadBound)
	s.noteRest()
}

// noteRest looks at the frames that have been read and not looked at.
func (s *stream) noteRest() {
	for frame := s.next(); frame != nil; frame = s.next() {
		s.note(frame)
	}
}

// next gives the next whole frame of what has been read; nil: there is none.
// At a clean end the rest is a frame if it ends the answer or the answer has ended;
// else it may be half of one, and is dropped.
func (s *stream) next() []byte {
	rest := s.buf[s.whole:]
	if len(rest) == 0 {
		return nil
	}
	n := s.form.FrameLen(rest, s.seen-s.whole)
	if n == 0 && s.err == io.EOF && (s.ended || s.dialect.EndsAnswer(s.form, rest)) {
		n = len(rest)
	}
	if n == 0 {
		s.seen = len(s.buf)
		return nil
	}
	s.whole += n
	s.seen = s.whole
	return rest[:n]
}

// note reads a frame's sign and remembers what end may follow.
func (s *stream) note(frame []byte) (sign dialect.FrameKind) {
	if s.content {
		sign = s.dialect.LaterFrameKind(s.form, frame)
	} else {
		sign = s.dialect.FrameKind(s.form, frame)
	}
	switch sign {
	case dialect.Finish:
		s.finished = true
	case dialect.Failure:
		s.ended, s.failure = true, s.faults.FromEvent(frame, time.Now())
	case dialect.End, dialect.Last:
		s.ended = true
	}
	return sign
}

// end gives the error that ends the stream: io.EOF for a complete answer.
func (s *stream) end() error {
	if s.ended || s.finished && s.err == io.EOF {
		return io.EOF
	}
	return s.cause()
}

// cause names the fault of a stream that ended too early.
func (s *stream) cause() *fault.Error {
	if s.err == io.EOF {
		return s.faults.Broken(nil, time.Now())
	}
	return s.faults.Broken(s.err, time.Now())
}
