package dialect

import "bytes"

// Sign is what a frame of a stream, or a whole body, means.
type Sign uint8

// The signs.
const (
	Opening Sign = iota // nothing of the answer yet: a role, message_start, a ping, a comment
	Content             // something that the caller would see as an answer, or that we do not know
	Finish              // content that completes the answer: a clean end may follow
	Failure             // an error in place of the answer
	End                 // the terminator
)

// Cut gives the length of the first frame in a stream of server-sent events,
// its blank line included; 0: there is no whole one yet. from is where to go
// on looking, for a reader that has looked at the bytes before it already.
func Cut(stream []byte, from int) int {
	for i := max(from-3, 0); i < len(stream); { // a blank line may straddle from
		n := bytes.IndexByte(stream[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		rest := stream[i:]
		switch {
		case len(rest) > 0 && rest[0] == '\n':
			return i + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return i + 2
		}
	}
	return 0
}

// Ends tells whether the rest of a stream that has ended, without the blank
// line that should close it, is a whole frame that ends the answer: its
// terminator, an error, or content that completes it. Anything else may be half
// of a frame.
func (d *Dialect) Ends(rest []byte) bool {
	_, data := event(rest)
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '{' {
		if _, whole := survey(data); !whole {
			return false
		}
	} else if string(data) != "[DONE]" {
		return false
	}
	return d.Sign(rest) >= Finish
}

// event gives the name and the data of a server-sent event; both are empty for
// a comment. Several data lines are joined, which copies.
func event(frame []byte) (name, data []byte) {
	for len(frame) > 0 {
		var line []byte
		line, frame, _ = bytes.Cut(frame, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(field) == "event":
			name = value
		case string(field) == "data" && data == nil:
			data = value
		case string(field) == "data":
			data = append(append(data[:len(data):len(data)], '\n'), value...)
		}
	}
	return name, data
}
