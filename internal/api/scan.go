package api

import (
	"bytes"
	"encoding/json"
)

// RequestScanner finds what a request's body says about the answer: the top-level members model and stream, those that
// lean on the server's memory, and those that bound it. It takes the body in parts, so that no body has to be in memory
// whole. The zero RequestScanner is ready, for an API whose server has no memory and whose requests state no bounds.
type RequestScanner struct {
	memory map[string]func(value []byte) bool // of the API's Definition
	noted  map[string]func(*Bounds, []byte)   // its Bounds

	step    step
	escaped bool // the last part ended behind a backslash in a string
	quoted  bool // inside a string of a nested value
	depth   int  // brackets that are open in a nested value

	text [modelBound]byte // the beginning of the key or value that is being read
	size int              // its whole length

	wanted    memberSet // whose value is being read
	found     memberSet
	model     string
	streaming bool                    // stream is true
	unset     bool                    // stream is null
	leans     bool                    // a member leans on the server's memory
	leansOn   func(value []byte) bool // whether the value that is being read does; with memoryMember
	bounds    Bounds
	noteBound func(*Bounds, []byte) // notes the value that is being read; with boundMember
}

// step is what the scanner reads next.
type step uint8

const (
	beforeObject step = iota
	beforeKey
	inKey
	afterKey
	beforeValue
	inString
	inNested
	inScalar
	afterValue
	ended // nothing: the object has ended, is no object, or says no more
)

// memberSet is a set of the members that are looked for.
type memberSet uint8

const (
	modelMember memberSet = 1 << iota
	streamMember
	memoryMember
	boundMember
)

// Scan reads the next part of the body. It reports whether the rest is of no use: all is known, the object
// has ended, or it is no JSON.
func (s *RequestScanner) Scan(part []byte) (done bool) {
	for len(part) > 0 && s.step != ended {
		part = s.scanStep(part)
	}
	return s.step == ended
}

// scanStep reads one key, value or mark, or as much of it as is there, and returns the rest.
func (s *RequestScanner) scanStep(part []byte) []byte {
	switch s.step {
	case inKey, inString:
		return s.scanString(part)
	case inNested:
		return s.scanNested(part)
	case inScalar:
		return s.scanScalar(part)
	}
	return s.scanMark(part)
}

// scanMark reads up to what stands between keys and values, or begins one.
func (s *RequestScanner) scanMark(part []byte) []byte {
	part = bytes.TrimLeft(part, " \t\r\n")
	if len(part) == 0 {
		return nil
	}
	mark := part[0]
	switch {
	case s.step == beforeValue:
		return s.beginValue(part)
	case s.step == beforeObject && mark == '{', s.step == afterValue && mark == ',':
		s.step = beforeKey
	case s.step == beforeKey && mark == '"':
		s.step, s.size = inKey, 0
	case s.step == afterKey && mark == ':':
		s.step = beforeValue
	default:
		s.step = ended
	}
	return part[1:]
}

// beginValue looks at the first byte of a value.
func (s *RequestScanner) beginValue(part []byte) []byte {
	s.size = 0
	switch part[0] {
	case '"':
		s.step = inString
		return part[1:]
	case '{', '[':
		s.step = inNested
	case ',', ':', ']', '}':
		s.step = ended
	default:
		s.step = inScalar
	}
	return part
}

// scanString reads a key or a string up to its end.
func (s *RequestScanner) scanString(part []byte) []byte {
	end := stringEnd(part, &s.escaped)
	if end < 0 {
		s.keep(part)
		return nil
	}
	s.keep(part[:end-1])
	if s.step == inKey {
		s.setWanted()
		s.step = afterKey
	} else {
		s.end(s.name(), s.quotedText())
	}
	return part[end:]
}

// stringEnd returns the length up to the quote that ends a string, and with it; negative: it is not there. escaped
// says that the part before ended behind a backslash, and then the same of this one.
func stringEnd(part []byte, escaped *bool) int {
	from := 0
	if *escaped && len(part) > 0 {
		*escaped, from = false, 1
	}
	at := from
	for {
		n := bytes.IndexByte(part[at:], '"')
		if n < 0 {
			*escaped = endsEscaping(part[from:])
			return -1
		}
		at += n + 1
		if !endsEscaping(part[from : at-1]) {
			return at
		}
	}
}

// endsEscaping reports whether the byte that follows a part of a string is escaped: an odd number of
// backslashes ends it.
func endsEscaping(part []byte) bool {
	n := 0
	for i := len(part) - 1; i >= 0 && part[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// scanNested reads an object or array up to its end.
func (s *RequestScanner) scanNested(part []byte) []byte {
	n, whole := s.nestedEnd(part)
	s.keep(part[:n])
	if whole {
		s.end("", s.kept())
	}
	return part[n:]
}

// nestedEnd returns the length up to the end of an object or array, and whether it is there. It looks at brackets and
// quotes only.
func (s *RequestScanner) nestedEnd(part []byte) (n int, whole bool) {
	for i := 0; i < len(part); i++ {
		if s.quoted {
			n := stringEnd(part[i:], &s.escaped)
			if n < 0 {
				return len(part), false
			}
			s.quoted = false
			if i += n; i == len(part) {
				return len(part), false
			}
		}
		switch part[i] {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		}
		if s.depth == 0 {
			return i + 1, true
		}
	}
	return len(part), false
}

// scanScalar reads a number or a literal up to what follows.
func (s *RequestScanner) scanScalar(part []byte) []byte {
	n := bytes.IndexAny(part, ",:]}\" \t\r\n")
	if n < 0 {
		s.keep(part)
		return nil
	}
	s.keep(part[:n])
	s.end("", s.kept())
	return part[n:]
}

// keep keeps the beginning of a key or a value that matters.
func (s *RequestScanner) keep(part []byte) {
	if s.wanted != 0 || s.step == inKey {
		if s.size < len(s.text) {
			copy(s.text[s.size:], part)
		}
		s.size += len(part)
	}
}

// kept returns what has been kept.
func (s *RequestScanner) kept() []byte { return s.text[:min(s.size, len(s.text))] }

// setWanted notes which member the key names.
func (s *RequestScanner) setWanted() {
	key := s.kept()
	if s.size <= len(s.text) && bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(unquote(key))
	}
	switch string(key) {
	case "model":
		s.wanted = modelMember
	case "stream":
		s.wanted = streamMember
	default:
		s.wanted = 0
		if s.leansOn = s.memory[string(key)]; s.leansOn != nil {
			s.wanted = memoryMember
		} else if s.noteBound = s.noted[string(key)]; s.noteBound != nil {
			s.wanted = boundMember
		}
	}
}

// end ends a value, whose JSON is cut after 256 bytes: a model's name, if it is a string, or another one that matters.
func (s *RequestScanner) end(model string, value []byte) {
	s.step = afterValue
	switch s.wanted {
	case modelMember:
		s.model = model
	case streamMember:
		s.streaming, s.unset = string(value) == "true", string(value) == "null"
	case memoryMember:
		s.leans = s.leans || s.leansOn(value)
	case boundMember:
		s.noteBound(&s.bounds, value)
	}
	const first = modelMember | streamMember
	if s.found |= s.wanted; s.found&first == first && (s.memory == nil || s.leans) && s.noted == nil {
		s.step = ended
	}
	s.wanted = 0
}

// name returns the model's name in the string that has ended; "": it is another member's.
func (s *RequestScanner) name() string {
	text := s.kept()
	last := bytes.LastIndexByte(text, '\\')
	switch {
	case s.wanted != modelMember:
		return ""
	case last < 0:
		return string(text)
	case s.size > len(text) && last > len(text)-len(`\u0000`):
		text = text[:last] // the bound may have cut an escape
	}
	return unquote(text)
}

// quotedText returns the string that has ended as JSON; nil: nothing looks at it.
func (s *RequestScanner) quotedText() []byte {
	if s.wanted != memoryMember {
		return nil
	}
	return append(append([]byte{'"'}, s.kept()...), '"')
}

// unquote returns what a JSON string stands for, without its quotes; "": it is malformed.
func unquote(text []byte) (s string) {
	_ = json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &s)
	return s
}
