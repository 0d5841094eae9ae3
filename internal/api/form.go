package api

import (
	"bytes"

	"github.com/ridethrough/ridethrough/internal/sse"
)

// Form is how an answer is transmitted.
type Form uint8

// The forms.
const (
	JSON      Form = iota // one JSON body
	Events                // server-sent events
	Lines                 // one JSON object a line
	Array                 // one JSON array whose elements come one by one: Gemini without alt=sse
	AWSEvents             // binary messages of AWS's event streams
)

// ContentType returns the content type of an answer in this form.
func (f Form) ContentType() string {
	switch f {
	case Events:
		return "text/event-stream; charset=utf-8"
	case Lines:
		return "application/x-ndjson"
	case AWSEvents:
		return contentTypeAWS
	}
	return "application/json"
}

// FrameLen returns the length of the first frame in a stream: an event with its blank line, a line with its
// end, an element with what precedes it, the bracket that closes the array, a message of AWS's. 0: there is
// no whole one yet; in a JSON body there never is. Negative: what begins the stream is damaged. from is where to continue searching: the bytes before it have been
// searched already.
func (f Form) FrameLen(stream []byte, from int) int {
	switch f {
	case Events:
		return sse.Cut(stream, from)
	case Lines:
		if n := bytes.IndexByte(stream[from:], '\n'); n >= 0 {
			return from + n + 1
		}
	case Array:
		return cutElement(stream, from)
	case AWSEvents:
		return cutAWSMessage(stream)
	}
	return 0
}

// cutElement returns the length up to the end of an object, or of the array. It starts over each time, but
// only when the new bytes contain a bracket that may be that end.
func cutElement(stream []byte, from int) int {
	if !bytes.ContainsAny(stream[from:], "}]") {
		return 0
	}
	s := scanner{text: stream}
	for s.take('[') || s.take(',') { // what stands before an element
	}
	switch {
	case s.take(']'):
		return s.at
	case s.peek() == '{' && s.skipNested():
		return s.at
	}
	return 0
}

// Payload returns an event's name, where the form has one, and the JSON of a frame, or what stands in its
// place.
func Payload(f Form, frame []byte) (name, data []byte) {
	switch f {
	case Events:
		name, data = sse.Parse(frame)
		if data == nil && len(name) == 0 && bytes.HasPrefix(frame, []byte("{")) {
			data = frame // Google breaks its streams off with bare JSON
		}
	case AWSEvents:
		name, data = awsPayload(frame)
	case Array:
		data = bytes.TrimLeft(frame, "[, \t\r\n")
	default:
		data = frame
	}
	return name, bytes.TrimSpace(data)
}
