package api

import (
	"bytes"
	"strconv"
)

// Charged is what the usages in an answer state that it has cost, as ratelimit.Charged has it.
type Charged struct{ Input, Written, Hour, Cached, Output float64 }

// usageFields are the members of the APIs' usages.
var usageFields = [...]struct {
	with  func(Charged, float64) Charged
	names []string
}{
	{func(u Charged, n float64) Charged { u.Input = n; return u }, []string{`"input_tokens":`, `"prompt_tokens":`, `"promptTokenCount":`, `"inputTokens":`}},
	{func(u Charged, n float64) Charged { u.Written = n; return u }, []string{`"cache_creation_input_tokens":`}},
	{func(u Charged, n float64) Charged { u.Cached = n; return u }, []string{`"cache_read_input_tokens":`}},
	{func(u Charged, n float64) Charged { u.Output = n; return u }, []string{`"output_tokens":`, `"completion_tokens":`, `"candidatesTokenCount":`, `"outputTokens":`}},
}

// A usage begins with usageMark in all of the APIs, and ends within usageSize. hourField is in an object of its own in it.
const (
	usageMark = `"usage`
	usageSize = 1 << 10
	hourField = `"ephemeral_1h_input_tokens":`
)

// Scan looks for usages in a part of an answer of any API. The later ones hold.
func (u *Charged) Scan(part []byte) {
	for {
		at := bytes.Index(part, []byte(usageMark))
		if at < 0 {
			return
		}
		part = part[at+len(usageMark):]
		colon := bytes.IndexByte(part[:min(len(part), 12)], ':') // "usage": or "usageMetadata":
		if colon < 0 {
			continue
		}
		object := bytes.TrimLeft(part[colon+1:min(len(part), usageSize)], " ")
		if len(object) == 0 || object[0] != '{' {
			continue
		}
		u.read(object)
	}
}

// read reads one usage. What it does not state stays as it is.
func (u *Charged) read(object []byte) {
	found := *u
	if n, ok := member(object, hourField); ok {
		found.Hour = n
	}
	var room [usageSize]byte
	object = withoutInner(room[:0], object)
	found.Input -= found.Written
	for _, f := range usageFields {
		for _, name := range f.names {
			if n, ok := member(object, name); ok {
				found = f.with(found, n)
			}
		}
	}
	found.Input += found.Written
	*u = found
}

// member returns the number behind a member's name; false: it is not there.
func member(object []byte, name string) (float64, bool) {
	at := bytes.Index(object, []byte(name))
	if at < 0 {
		return 0, false
	}
	return leadingNumber(object[at+len(name):])
}

// withoutInner appends an object up to its end, without the objects in it.
func withoutInner(flat, object []byte) []byte {
	depth := 0
	for _, c := range object {
		if c == '{' {
			depth++
		}
		if depth == 1 {
			flat = append(flat, c)
		}
		if c == '}' {
			depth--
		}
		if depth == 0 {
			break
		}
	}
	return flat
}

// maxFields are the members with which requests bound their answers.
var maxFields = [...]string{`"max_tokens":`, `"max_completion_tokens":`, `"max_output_tokens":`, `"maxOutputTokens":`}

// MaxTokens looks in a part of a request's body, for any API, for the longest answer that it asks for, in tokens; 0: it
// is not there.
func MaxTokens(part []byte) int64 {
	for {
		at := bytes.Index(part, []byte(`"max`))
		if at < 0 {
			return 0
		}
		part = part[at:]
		for _, field := range maxFields {
			if rest, ok := bytes.CutPrefix(part, []byte(field)); ok {
				if n, ok := leadingNumber(rest); ok {
					return int64(n)
				}
			}
		}
		part = part[1:]
	}
}

// mostTokens is above every number of tokens that is meant.
const mostTokens = 1e13

// leadingNumber parses the number that a text begins with.
func leadingNumber(s []byte) (float64, bool) {
	s = bytes.TrimLeft(s, " ")
	n := min(digitsLen(s), 16)
	value, err := strconv.ParseFloat(string(s[:n]), 64)
	return value, err == nil && value <= mostTokens
}
