package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
)

// stream is the body of a streamed answer. It returns whole frames, with their
// bytes unchanged. An answer that breaks off or ends without its terminator ends
// in a *fault.Error, never in io.EOF, which SDKs would take for a whole answer.
//
// Half a frame at the end of a broken answer is dropped. A frame too large to keep
// is returned in parts, and from there on the stream is not examined.
type stream struct {
	ahead
	dialect  *api.API
	form     api.Form
	faults   classify.Classifier
	refusals bool         // they are faults
	whole    int          // buf[at:whole] are whole frames, to be returned
	seen     int          // between whole and here no frame ends
	content  bool         // the first content has been read
	tally    api.Tally    // of what has been read, up to its text
	heldFrom int          // buf[heldFrom-1:whole] is not returned so far, since it ends an answer that may be none; 0: nothing is
	lacksEnd bool         // it says that it has not finished so far: a terminator alone is no end
	finished bool         // the answer is complete: a clean end may follow
	ended    bool         // it has its terminator, or an error in its place: any end may follow
	failure  *fault.Error // that error; nil: none
	hidden   bool         // it is none to the SDKs of the API
	raw      bool         // no longer examined
	unlike   uint8        // frames of plain content since one that repeats
	errLine  bool         // its failure has been made a line, or is to be none
	watch    *watchdog    // is told of content; nil: none is

	withholds bool        // an error event behind content ends it as a fault, and is not returned
	withheld  []byte      // that event
	repeats   api.Repeats // frames of plain content
}

// Watched is the body of a streamed answer from a Transport. It returns whole
// frames, and ends in a *fault.Error where the answer breaks off.
type Watched interface {
	io.ReadCloser
	// Failure returns the error event that the provider has sent in the stream;
	// nil: none so far. Only the goroutine that reads may call it.
	Failure() *fault.Error
	// Whole reports, after the end, whether it was the proper end of an answer without an error.
	Whole() bool
	// Form returns the form of the answer, which need not be the one that was
	// asked for.
	Form() api.Form
}

// Form returns the form of the answer.
func (s *stream) Form() api.Form { return s.form }

// Whole reports whether the answer had its proper end.
func (s *stream) Whole() bool { return !s.raw && s.failure == nil && s.err != nil && s.end() == io.EOF }

// Failure returns the error event that came in the stream.
func (s *stream) Failure() *fault.Error { return s.failure }

// open reads up to the first content and keeps what it reads. It returns a fault
// if the answer fails before, or has ended without any output. opened is called once when the answer has begun and
// its content has not come yet; nil: it is not.
func (s *stream) open(opened func()) *fault.Error {
	for {
		for frame := s.next(); frame != nil; frame = s.next() {
			sign := s.note(frame)
			if f := s.refusal(frame); f != nil {
				s.readToEnd()
				return f
			}
			if sign == api.Opening || !s.tally.Begun() && (sign == api.Content || sign == api.Finish) {
				continue
			}
			s.content = true
			if sign == api.Failure && s.hidden {
				s.showError(frame)
				return s.failure
			}
			s.hold(frame)
			s.noteFrames()
			switch {
			case sign == api.Failure:
				return s.failure
			case sign == api.End && !s.tally.Begun() && !s.tally.Stopped(): // a terminator alone is no answer
				s.ended = false
				return s.faults.Broken(nil, time.Now())
			case sign < api.Finish || s.heldFrom > 0: // more follows
				return nil
			}
			return emptyFault(s.tally.Output())
		}
		switch {
		case s.err == io.EOF && s.finished:
			s.content = true
			return emptyFault(s.tally.Output())
		case s.err != nil:
			return s.cause()
		case len(s.buf) >= maxAhead:
			s.raw = true
			return nil
		case s.whole > 0 && opened != nil:
			opened()
			opened = nil
		}
		s.fill(maxAhead)
	}
}

// refusal returns the fault of a frame in which the model refuses, or nil.
func (s *stream) refusal(frame []byte) *fault.Error {
	if !s.refusals {
		return nil
	}
	return refusalFault(s.dialect.Refusal(s.form, frame))
}

// readToEnd reads what follows a refusal, which is its end. It may be returned much later.
func (s *stream) readToEnd() {
	s.content = true
	for s.noteFrames(); s.err == nil && !s.ended && len(s.buf) < maxAhead; s.noteFrames() {
		s.fill(maxAhead)
	}
}

// refusalFault returns the fault of an answer that is refused for a reason; nil: "".
func refusalFault(reason string) *fault.Error {
	if reason == "" {
		return nil
	}
	return &fault.Error{
		Kind: fault.Refused, Status: http.StatusOK, Code: reason, Rule: "stream/refusal",
		Message: "the model refuses to answer: " + reason, Err: ErrRefusal,
	}
}

// errEmpty is the cause of the fault of an answer that is asked for once more.
var errEmpty = errors.New("the answer is empty")

// emptyFault returns the fault of an answer that is whole and none; nil: it is one.
func emptyFault(o api.Output) *fault.Error {
	switch o {
	case api.NoOutput:
		return &fault.Error{
			Kind: fault.Truncated, Status: http.StatusOK, Rule: "stream/empty", Retries: 1, Err: errEmpty,
			Message: "the answer is empty: it has neither a text nor a call, and nothing that explains it",
			Reason:  "an answer like that is asked for once more",
		}
	case api.NoInput:
		return &fault.Error{
			Kind: fault.Truncated, Status: http.StatusOK, Rule: "stream/unread",
			Message: "the answer is empty: by its usage not even the request was read",
			Reason:  "it cannot have cost anything",
		}
	}
	return nil
}

// hold has the frames from the last one on wait until it is known whether they end an answer: after thoughts the usage
// says so.
func (s *stream) hold(frame []byte) {
	if s.heldFrom == 0 && s.tally.OnlyThinks() && s.tally.Stopped() {
		s.heldFrom = s.whole - len(frame) + 1
	}
}

// settle returns what was held if the answer is one, or ends it with a fault.
func (s *stream) settle() {
	if s.heldFrom == 0 || !s.ended && s.err == nil {
		return
	}
	from := s.heldFrom - 1
	s.heldFrom = 0
	if f := emptyFault(s.tally.Output()); f != nil && s.failure == nil && (s.err == nil || s.err == io.EOF) {
		s.buf, s.whole, s.seen = s.buf[:from], from, from
		s.err, s.ended, s.finished = f, false, false
		_ = s.release()
	}
}

// readable returns the end of what may be returned.
func (s *stream) readable() int {
	if s.heldFrom > 0 {
		return s.heldFrom - 1
	}
	return s.whole
}

// Read returns whole frames, the last ones with io.EOF where the answer has ended properly.
func (s *stream) Read(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	for s.at == s.readable() && !s.raw {
		if s.err != nil {
			err := s.end()
			if s.addErrorLine(err) {
				break
			}
			s.drop()
			s.at, s.whole = 0, 0
			return 0, err
		}
		s.readMore()
	}
	if s.raw {
		return s.ahead.Read(p)
	}
	n := copy(p, s.buf[s.at:s.readable()])
	s.at += n
	if s.at == s.whole && s.err != nil && s.end() == io.EOF {
		s.drop()
		s.at, s.whole = 0, 0
		return n, io.EOF
	}
	return n, nil
}

// addErrorLine makes the error that ends a stream of lines a line of its own, once.
// Ollama's client ignores an error that ends a body, and would show a short answer
// as a whole one.
func (s *stream) addErrorLine(err error) bool {
	f, failed := errors.AsType[*fault.Error](err)
	if !failed || f.Kind == fault.Canceled || s.form != api.Lines || s.errLine {
		return false
	}
	s.errLine = true
	s.drop()
	s.buf = s.dialect.ErrorEvent(s.form, f, f.Error(), true)
	s.at, s.whole, s.seen = 0, len(s.buf), len(s.buf)
	return true
}

// readMore reads once from the source.
func (s *stream) readMore() {
	done := s.readable()
	rest := copy(s.buf, s.buf[done:])
	s.buf, s.at, s.seen, s.whole, s.heldFrom = s.buf[:rest], 0, s.seen-done, s.whole-done, min(s.heldFrom, 1)
	if rest >= maxAhead {
		s.raw = true
		return
	}
	s.fit()
	s.fill(maxAhead)
	s.noteFrames()
}

// noteFrames examines the frames that have been read since.
func (s *stream) noteFrames() {
	defer s.settle()
	for {
		if s.skipRepeats() {
			s.watch.progress()
		}
		frame := s.next()
		if frame == nil {
			return
		}
		sign := s.note(frame)
		if sign != api.Opening {
			s.watch.progress()
		}
		s.hold(frame)
		switch {
		case sign == api.Failure && (s.withholds || s.hidden):
			s.withhold(frame)
			return
		case sign == api.End && !s.ended:
			s.leaveOut(frame)
			return
		case sign == api.Content && s.unlike < maxUnlike && len(frame) <= maxRepeated && frame[len(frame)-1] == '\n':
			s.unlike++ // one with another end may be cut otherwise, by what follows
			s.repeats.Learn(frame)
		default:
			s.repeats.Forget()
		}
	}
}

// Bounds on the search for repeats: frames of plain content of which none repeats the one before, and the length of
// a frame that is kept for it.
const (
	maxUnlike   = 8
	maxRepeated = 1 << 10
)

// skipRepeats passes over the frames that repeat plain content, which need not be examined. It reports whether there
// were any.
func (s *stream) skipRepeats() (any bool) {
	for n := s.repeats.NextLen(s.buf[s.whole:]); n > 0; n = s.repeats.NextLen(s.buf[s.whole:]) {
		s.whole += n
		s.seen, s.unlike, any = s.whole, 0, true
	}
	return any
}

// showError puts an error in the form of the API in the place of the last frame, which ends the stream.
func (s *stream) showError(frame []byte) {
	s.whole -= len(frame)
	s.buf = append(s.buf[:s.whole], s.dialect.ErrorEvent(s.form, s.failure, s.failure.Error(), s.whole > 0)...)
	s.whole, s.seen, s.err = len(s.buf), len(s.buf), io.EOF
	_ = s.release()
}

// withhold ends the stream with the fault of its last frame, which is not returned.
func (s *stream) withhold(frame []byte) {
	s.withheld = bytes.Clone(frame)
	if s.hidden {
		s.withheld = s.dialect.ErrorEvent(s.form, s.failure, s.failure.Error(), true)
	}
	s.whole -= len(frame)
	s.buf, s.seen = s.buf[:s.whole], s.whole
	s.err, s.ended = s.failure, false
	_ = s.release()
}

// leaveOut ends a stream whose terminator came before its end. The terminator is not returned.
func (s *stream) leaveOut(terminator []byte) {
	s.whole -= len(terminator)
	s.breakOff("it has its terminator, and no reason to finish", "stream/unfinished")
}

// next returns the next whole frame of what has been read, or nil. At
// a clean end the rest is a frame if it ends the answer or the answer has ended.
// Else it may be half of one, and is dropped.
func (s *stream) next() []byte {
	rest := s.buf[s.whole:]
	if len(rest) == 0 {
		return nil
	}
	n := s.form.FrameLen(rest, s.seen-s.whole)
	switch {
	case n < 0:
		s.damaged()
		return nil
	case n == 0 && s.err == io.EOF && s.form != api.AWSEvents && (s.ended || s.dialect.EndsAnswer(s.form, rest)):
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

// damaged ends a stream whose next frame is damaged.
func (s *stream) damaged() {
	s.breakOff("what came next is no message of an event stream, or a damaged one", "stream/damaged")
}

// breakOff ends a stream after its last whole frame, and drops the rest.
func (s *stream) breakOff(why, rule string) {
	s.buf, s.seen = s.buf[:s.whole], s.whole
	s.err = &fault.Error{Kind: fault.Truncated, Status: http.StatusOK, Rule: rule, Message: "the answer broke off: " + why}
	_ = s.release()
}

// note returns the kind of a frame and remembers which end may follow.
func (s *stream) note(frame []byte) (sign api.FrameKind) {
	if s.content {
		sign = s.dialect.LaterFrameKind(s.form, frame)
		s.tally.Add(s.dialect, s.form, frame)
	} else {
		var parts api.Parts
		sign, parts = s.dialect.ReadFrame(s.form, frame)
		s.tally.AddParts(s.dialect, s.form, frame, &parts)
	}
	switch sign {
	case api.Finish:
		s.finished = true
	case api.Failure:
		s.ended, s.failure = true, s.faults.FromEvent(s.dialect.ErrorText(s.form, frame), time.Now())
		s.hidden = s.dialect.HidesError(s.form, frame)
	case api.End, api.Last:
		s.ended = sign == api.Last || s.finished || !s.lacksEnd
		if sign == api.Last {
			s.ending = s.dialect.Ending(s.form, frame)
		}
	case api.Opening, api.Content:
		s.lacksEnd = s.lacksEnd || s.dialect.SaysUnfinished(frame)
	}
	return sign
}

// end returns the error that ends the stream: io.EOF for a complete answer.
func (s *stream) end() error {
	if s.ended || s.finished && s.err == io.EOF {
		return io.EOF
	}
	return s.cause()
}

// cause returns the fault of a stream that ended too early. What its server may have meant by that is in its words.
func (s *stream) cause() *fault.Error {
	if s.err != io.EOF {
		return s.faults.Broken(s.err, time.Now())
	}
	f := s.faults.Broken(nil, time.Now())
	if s.content && s.dialect.Note(api.Bounds{}, api.Ending{Read: true}) == api.NoEnd {
		f.Message = "the answer broke off: " + api.NoEnd.Words()
	}
	return f
}
