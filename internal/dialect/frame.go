package dialect

import "github.com/ridethrough/ridethrough/internal/sse"

// FrameKind is what a frame of a stream, or a whole body, means.
type FrameKind uint8

// The kinds of frame. From Finish on, the answer may end.
const (
	Opening FrameKind = iota // nothing of the answer yet: a role, message_start, a ping, a comment
	Content                  // something that the caller would see as an answer, or an unknown frame
	Finish                   // content that completes the answer: a clean end may follow
	Failure                  // an error in place of the answer
	End                      // the terminator; alone it is no answer
	Last                     // a terminator that is an answer by itself, since it repeats all of it
)

// FrameKind returns what one frame of a stream means. The frame is one of [Form.FrameLen] bytes; in the
// form JSON it is the body.
func (d *Dialect) FrameKind(f Form, frame []byte) FrameKind {
	if f == JSON {
		return d.BodyKind(frame)
	}
	if f == AWSEvents && isAWSError(frame) {
		return Failure
	}
	if d.kindByName != nil && f == Events {
		if kind, ok := d.kindByName(sse.Name(frame)); ok {
			return kind
		}
	}
	name, data := payload(f, frame)
	switch {
	case string(data) == "[DONE]", f == Array && string(data) == "]":
		return End
	case len(data) > 0 && data[0] != '{' && f != Events:
		return Failure // a page, or other text that is not JSON
	}
	return d.frameKind(name, data)
}

// ErrorText returns what a frame that is a Failure says, as text.
func (d *Dialect) ErrorText(f Form, frame []byte) []byte {
	if f == AWSEvents {
		return awsErrorText(frame)
	}
	return frame
}

// LaterFrameKind is FrameKind for a frame after content, where Opening and Content need not be told apart.
// It recognizes plain content by how it begins and ends, at almost no cost, and parses the others.
func (d *Dialect) LaterFrameKind(f Form, frame []byte) FrameKind {
	if d.isPlainContent != nil && d.isPlainContent(frame) {
		return Content
	}
	return d.FrameKind(f, frame)
}

// EndsAnswer reports whether the rest of a stream that has ended, without the blank line or line end that
// should close it, is a whole frame that ends the answer: its terminator, an error, or content that
// completes it. Anything else may be half of a frame.
func (d *Dialect) EndsAnswer(f Form, rest []byte) bool {
	if f == AWSEvents {
		return false // it would be a whole one
	}
	_, data := payload(f, rest)
	if len(data) > 0 && data[0] == '{' {
		if _, whole := inspectObject(data, nil); !whole {
			return false
		}
	} else if string(data) != "[DONE]" {
		return false
	}
	return d.FrameKind(f, rest) >= Finish
}

// BodyKind returns what the body of an answer that is not streamed means: Content for an answer, Failure
// for an error or a page in its place, Opening for incomplete JSON.
func (d *Dialect) BodyKind(body []byte) FrameKind {
	s := scanner{text: body}
	first := s.peek()
	failed, whole := inspectObject(body, d.isError)
	switch {
	case first == 0:
		return Opening
	case first != '{' || failed:
		return Failure
	case !whole:
		return Opening
	}
	return Content
}

// eventName returns an event's name, or the type in its data where a relay leaves the name out. An error
// that names neither, which relays put into any API, is called "error" as well.
func eventName(name, data []byte) []byte {
	if len(name) > 0 {
		return name
	}
	for key, value := range members(data) {
		switch {
		case isErrorMember(key, value):
			return []byte("error")
		case name == nil && string(key) == "type" && len(value) > 1 && value[0] == '"':
			name = value[1 : len(value)-1]
		}
	}
	return name
}
