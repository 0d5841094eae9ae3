// Package sse cuts and parses streams of server-sent events (WHATWG HTML, 9.2). A line ends with LF, CRLF or
// CR, and one stream may mix them.
package sse

import "bytes"

// mark is the byte order mark that may precede a stream.
const mark = "\ufeff"

// Cut returns the length of the first frame of a stream: an event, a comment or both, with the blank line
// that ends it. 0: there is no whole one yet. from is where to continue searching: the bytes before it have
// been searched already.
//
// A stream is cut into the same frames however its bytes arrive. So the LF of a CRLF that follows a CR alone
// begins the next frame, where it means nothing.
func Cut(stream []byte, from int) int {
	for i := max(from-3, 0); i < len(stream); { // a blank line may straddle from
		at := lineEnd(stream[i:])
		if at < 0 {
			return 0
		}
		at += i
		i = at + endLen(stream[at:])
		if i == at || i == len(stream) {
			return 0
		}
		switch end := endLen(stream[i:]); {
		case stream[i] == '\r' && i == at+1 && stream[at] == '\r':
			return i + 1
		case end > 0:
			return i + end
		case stream[i] == '\r':
			return 0
		}
	}
	return 0
}

// lineEnd returns where the first line end begins; negative: none. It looks for both in parts that
// grow, so that many lines with one kind of end are not searched for the other again and again.
func lineEnd(text []byte) int {
	for from, size := 0, 256; from < len(text); from, size = from+size, 2*size {
		part := text[from:min(from+size, len(text))]
		lf := bytes.IndexByte(part, '\n')
		if lf >= 0 {
			part = part[:lf]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			return from + cr
		}
		if lf >= 0 {
			return from + lf
		}
	}
	return -1
}

// endLen returns the length of the line end that a text begins with; 0: none, or a CR is all of the
// text, which may be half of one.
func endLen(text []byte) int {
	switch {
	case text[0] == '\n':
		return 1
	case text[0] != '\r' || len(text) == 1:
		return 0
	case text[1] == '\n':
		return 2
	}
	return 1
}

// Parse returns the name and the data of a frame; both are empty for a comment. Several lines of data are
// joined, which copies. A field "error" with an object, in which llama.cpp's server says what is wrong, is an event of
// that name.
func Parse(frame []byte) (name, data []byte) {
	frame = bytes.TrimPrefix(frame, []byte(mark))
	for len(frame) > 0 {
		var line []byte
		line, frame = cutLine(frame)
		field, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			value = line[len(line):] // empty, not missing
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(field) == "event":
			name = value
		case string(field) == "error" && bytes.HasPrefix(value, []byte("{")):
			name, data = field, value
		case string(field) != "data":
		case data == nil:
			data = value[:len(value):len(value)]
		default:
			data = append(append(data, '\n'), value...)
		}
	}
	return name, data
}

// cutLine returns the first line without its end, and what follows.
func cutLine(text []byte) (line, rest []byte) {
	at := lineEnd(text)
	if at < 0 {
		return text, nil
	}
	return text[:at], text[at+max(endLen(text[at:]), 1):]
}

// Begins reports whether a stream of events begins with these bytes.
func Begins(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte(mark)), "\r\n")
	for _, field := range [...]string{"data:", "event:", "id:", "retry:", ":", "error: {", "error:{"} {
		if bytes.HasPrefix(text, []byte(field)) {
			return true
		}
	}
	return false
}
