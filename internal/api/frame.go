package api

import (
	"bytes"
	"unicode/utf8"
)

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
func (a *API) FrameKind(f Form, frame []byte) FrameKind {
	kind, _ := a.ReadFrame(f, frame)
	return kind
}

// ReadFrame returns what a frame means, as FrameKind does, and what it says; of a body that is no answer, nothing.
func (a *API) ReadFrame(f Form, frame []byte) (kind FrameKind, parts Parts) {
	if f == JSON {
		if kind = a.BodyKind(frame); kind != Content {
			return kind, parts
		}
	}
	parts = a.Decode(f, frame)
	if f == JSON && !parts.fails() {
		return Content, parts
	}
	return parts.frameKind(), parts
}

// Decode returns what a frame says; in the form JSON it is the body.
func (a *API) Decode(f Form, frame []byte) (parts Parts) {
	name, data := Payload(f, frame)
	switch {
	case f == JSON:
	case string(data) == "[DONE]", f == Array && string(data) == "]":
		parts.Add(Part{Kind: EndPart})
		return parts
	case f == AWSEvents && isAWSError(frame), f == Events && len(data) > 0 && isErrorField(frame),
		len(data) > 0 && data[0] != '{' && (f != Events || len(name) == 0 && isText(data)):
		parts.Add(Part{Kind: ErrorPart})
		return parts
	}
	return a.is.Decode(name, data)
}

// Whole returns what a part that repeats blocks has in them. Each block, or the first of them, has the part's number, and
// ends with a ClosePart.
func (a *API) Whole(p *Part) (parts Parts) {
	if a.is.Whole == nil {
		return parts
	}
	return a.is.Whole(p.Text, max(p.Block, 1))
}

// ErrorText returns what a frame that is a Failure says, as text.
func (a *API) ErrorText(f Form, frame []byte) []byte {
	parts := a.Decode(f, frame)
	switch {
	case parts.Failure != nil:
		return parts.Failure
	case f == AWSEvents:
		return awsErrorText(frame)
	}
	return frame
}

// isErrorField reports whether an event is llama.cpp's field error, which a relay may put into any API.
func isErrorField(frame []byte) bool { return bytes.HasPrefix(frame, []byte("error:")) }

// isText reports whether the data of an event is a page or another text, which is no answer. A single word may say that
// the server is at work.
func isText(data []byte) bool {
	first := data[0] | 0x20
	return data[0] == '<' || ('a' <= first && first <= 'z' || first >= utf8.RuneSelf) && bytes.IndexByte(data, ' ') > 0
}

// HidesError reports whether the SDKs of the API would not see the error in a frame that is a Failure.
func (a *API) HidesError(f Form, frame []byte) bool {
	parts := a.Decode(f, frame)
	if f != Events || parts.Failure != nil {
		return parts.Failure != nil
	}
	name, data := Payload(f, frame)
	switch stated := len(data) > 0 && data[0] == '{' && !IsEmpty(Member(data, "error")); {
	case bytes.HasPrefix(frame, []byte("{")): // only Google's SDKs see JSON among events
		return !a.is.Arrays || !stated
	case isErrorField(frame):
		return true
	case a.is.SeesError != nil:
		return !a.is.SeesError(name, data)
	default:
		return !stated
	}
}

// SeesNamedError reports whether an event has a name, a type or a member that says that it is an error. The type in
// vLLM's object is that of an exception.
func SeesNamedError(name, data []byte) bool {
	return len(data) > 0 && data[0] == '{' && string(Member(data, "object")) != `"error"` && (len(name) > 0 || Member(data, "type") != nil || Member(data, "event_type") != nil || !IsEmpty(Member(data, "error")))
}

// LaterFrameKind is FrameKind for a frame after content, where Opening and Content need not be told apart.
// It recognizes plain content by how it begins and ends, at almost no cost, and parses the others.
func (a *API) LaterFrameKind(f Form, frame []byte) FrameKind {
	if a.is.IsPlainContent != nil && a.is.IsPlainContent(frame) {
		return Content
	}
	return a.FrameKind(f, frame)
}

// SaysUnfinished reports whether a frame says that its answer has not finished. The terminator is no proper end of
// it then, unless a frame that is a Finish comes before: relays put it behind whatever they have.
func (a *API) SaysUnfinished(frame []byte) bool {
	return a.is.SaysUnfinished != nil && a.is.SaysUnfinished(frame)
}

// EndsAnswer reports whether the rest of a stream that has ended, without the blank line or line end that
// should close it, is a whole frame that ends the answer: its terminator, an error, or content that
// completes it. Anything else may be half of a frame.
func (a *API) EndsAnswer(f Form, rest []byte) bool {
	if f == AWSEvents {
		return false // it would be a whole one
	}
	_, data := Payload(f, rest)
	if len(data) > 0 && data[0] == '{' {
		if _, whole := inspectObject(data, nil); !whole {
			return false
		}
	} else if string(data) != "[DONE]" {
		return false
	}
	return a.FrameKind(f, rest) >= Finish
}

// BodyKind returns what the body of an answer that is not streamed means: Content for an answer, Failure
// for an error or a page in its place, Opening for incomplete JSON.
func (a *API) BodyKind(body []byte) FrameKind {
	s := scanner{text: body}
	first := s.peek()
	failed, whole := inspectObject(body, a.is.IsError)
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

// EventName returns an event's name, or the type in its data where a relay leaves the name out. An error
// that names neither, which relays put into any API, is called "error" as well.
func EventName(name, data []byte) []byte {
	if len(name) > 0 {
		return name
	}
	for key, value := range Members(data) {
		switch {
		case IsErrorMember(key, value):
			return []byte("error")
		case name == nil && string(key) == "type" && len(value) > 1 && value[0] == '"':
			name = value[1 : len(value)-1]
		}
	}
	return name
}
