package api

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strconv"
)

// Members ranges over the top-level members of a JSON object without parsing their contents: keys without
// quotes and with escapes as they are, values as raw JSON. It ends early where the text is not JSON.
func Members(text []byte) iter.Seq2[[]byte, []byte] {
	s := scanner{text: text}
	return s.members()
}

// Member returns the value of a member of a JSON object; nil: without one.
func Member(object []byte, name string) []byte {
	for key, value := range Members(object) {
		if string(key) == name {
			return value
		}
	}
	return nil
}

// Elements ranges over the elements of a JSON array as raw JSON.
func Elements(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := scanner{text: text}
		for value := s.next('['); len(value) > 0 && yield(value); value = s.next(',') {
		}
	}
}

// IsEmpty reports whether a raw value carries nothing: none, null, false, "", [] or {}.
func IsEmpty(value []byte) bool {
	switch string(value) {
	case "", "null", "false", `""`, "[]", "{}":
		return true
	}
	return false
}

// IsErrorMember reports whether a member makes its object an error: an "error" that is not empty, the type or object
// "error", or a "detail", which servers in Python write in their own name.
func IsErrorMember(key, value []byte) bool {
	switch string(key) {
	case "error", "detail":
		return !IsEmpty(value)
	case "type", "object":
		return string(value) == `"error"`
	}
	return false
}

// inspectObject reports whether a JSON object is an error, by the members of all APIs or by isError, and
// whether it is whole.
func inspectObject(object []byte, isError func(key, value []byte) bool) (failed, whole bool) {
	s := scanner{text: object}
	for key, value := range s.members() {
		failed = failed || IsErrorMember(key, value) || isError != nil && isError(key, value)
	}
	return failed, s.take('}')
}

// scanner scans JSON text, one value at a time.
type scanner struct {
	text []byte
	at   int
}

// members ranges over the members of an object. It stops after the last whole one, before the closing
// bracket.
func (s *scanner) members() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for key, value := s.nextMember('{'); len(value) > 0 && yield(key, value); key, value = s.nextMember(',') {
		}
	}
}

// next returns the value behind a mark; empty: the mark is not next, or no whole value follows it.
func (s *scanner) next(mark byte) []byte {
	if !s.take(mark) {
		return nil
	}
	return s.value()
}

// nextMember returns the member after a mark, with an empty value if the mark or the member is missing.
func (s *scanner) nextMember(mark byte) (key, value []byte) {
	if !s.take(mark) || s.peek() != '"' {
		return nil, nil
	}
	if key = s.value(); len(key) < 2 || !s.take(':') {
		return nil, nil
	}
	return key[1 : len(key)-1], s.value()
}

// peek skips white space and returns the next byte; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and the byte c; false: another byte is next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// value skips one value and returns its text, empty if it is missing or incomplete. It finds the end by
// brackets and quotes and does not check the grammar inside.
func (s *scanner) value() []byte {
	first := s.peek()
	from := s.at
	ok := false
	switch first {
	case 0, ',', ':', ']', '}':
	case '"':
		ok = s.skipString()
	case '{', '[':
		ok = s.skipNested()
	default:
		ok = s.skipScalar()
	}
	if !ok {
		if s.at > from {
			s.at = len(s.text) // what is left is half of a value
		}
		return nil
	}
	return s.text[from:s.at]
}

// skipString skips a string whose opening quote is next.
func (s *scanner) skipString() bool {
	end := endOfString(s.text, s.at)
	s.at = cmp.Or(end, len(s.text))
	return end > 0
}

// endOfString returns where the string ends whose opening quote is at a place, after its closing quote; 0: it does
// not end.
func endOfString(text []byte, at int) int {
	for at++; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return 0
		}
		at += n + 1
		if text[at-2] != '\\' || !endsEscaping(text[:at-1]) {
			return at
		}
	}
}

// skipNested skips an object or array whose opening bracket is next.
func (s *scanner) skipNested() bool {
	text, at, depth := s.text, s.at, 0 // not s.at: most of a frame is skipped here
	s.at = len(text)
	for at < len(text) {
		switch text[at] {
		case '"':
			if at = endOfString(text, at); at == 0 {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.at = at + 1
				return true
			}
		}
		at++
	}
	return false
}

// skipScalar skips a number or a literal. Without a delimiter after it, it may not be whole.
func (s *scanner) skipScalar() bool {
	for from := s.at; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ',', ':', ']', '}', '"', ' ', '\t', '\r', '\n':
			return s.at > from
		}
	}
	return false
}

// Number returns the value of a JSON integer, and 0 for anything else.
func Number(value []byte) int {
	if len(value) == 0 || !isDigit(value[len(value)-1]) {
		return 0 // most are not there, and an error would be allocated
	}
	n, err := strconv.Atoi(string(value))
	if err != nil {
		return 0
	}
	return n
}

// Shifted returns an object with a number raised, where it has it.
func Shifted(object []byte, name string, by int) []byte {
	if by == 0 {
		return object
	}
	return Edited(object, func(key, value []byte) []byte {
		if string(key) != name {
			return value
		}
		return strconv.AppendInt(nil, int64(Number(value)+by), 10)
	})
}

// Edited returns an object with other values for its members; nil leaves one out.
func Edited(object []byte, edit func(key, value []byte) []byte) []byte {
	out := append(make([]byte, 0, len(object)+16), '{')
	for key, value := range Members(object) {
		if value = edit(key, value); value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), key...), `":`...), value...)
	}
	return append(out, '}')
}

// EditedElements returns an array with other elements.
func EditedElements(array []byte, edit func([]byte) []byte) []byte {
	out := []byte{'['}
	for element := range Elements(array) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, edit(element)...)
	}
	return append(out, ']')
}

// WithoutMembers returns an object without some members of an object in it.
func WithoutMembers(object []byte, in string, names ...string) []byte {
	return Edited(object, func(key, value []byte) []byte {
		if string(key) != in {
			return value
		}
		return Edited(value, func(key, value []byte) []byte {
			if slices.Contains(names, string(key)) {
				return nil
			}
			return value
		})
	})
}
