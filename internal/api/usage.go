package api

import (
	"bytes"
	"strconv"
)

// Charged is what the usages in an answer state that it has cost, as ratelimit.Charged has it.
type Charged struct{ Input, Written, Hour, Cached, Output float64 }

// usageFields are the members of the APIs' usages.
var usageFields = [...]struct {
	name string
	with func(Charged, float64) Charged
}{
	{`"input_tokens":`, func(u Charged, n float64) Charged { u.Input = n; return u }},
	{`"prompt_tokens":`, func(u Charged, n float64) Charged { u.Input = n; return u }},
	{`"promptTokenCount":`, func(u Charged, n float64) Charged { u.Input = n; return u }},
	{`"inputTokens":`, func(u Charged, n float64) Charged { u.Input = n; return u }},
	{`"cache_creation_input_tokens":`, func(u Charged, n float64) Charged { u.Written = n; return u }},
	{`"cache_read_input_tokens":`, func(u Charged, n float64) Charged { u.Cached = n; return u }},
	{`"output_tokens":`, func(u Charged, n float64) Charged { u.Output = n; return u }},
	{`"completion_tokens":`, func(u Charged, n float64) Charged { u.Output = n; return u }},
	{`"candidatesTokenCount":`, func(u Charged, n float64) Charged { u.Output = n; return u }},
	{`"outputTokens":`, func(u Charged, n float64) Charged { u.Output = n; return u }},
}

// hourField is in an object of its own in the usage, beside the same of five minutes.
var hourField = []byte(`"ephemeral_1h_input_tokens":`)

// usageMark begins a usage in all of the APIs, and usageSize is where it ends at the latest.
var usageMark = []byte(`"usage`)

const usageSize = 1 << 10

// Scan looks for usages in a part of an answer of any API. The later ones hold.
func (u *Charged) Scan(part []byte) {
	for {
		at := bytes.Index(part, usageMark)
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
	if at := bytes.Index(object, hourField); at >= 0 {
		if n, ok := leadingNumber(object[at+len(hourField):]); ok {
			found.Hour = n
		}
	}
	var room [usageSize]byte
	object = withoutInner(room[:0], object)
	found.Input -= found.Written
	for _, f := range usageFields {
		if at := bytes.Index(object, []byte(f.name)); at >= 0 {
			if n, ok := leadingNumber(object[at+len(f.name):]); ok {
				found = f.with(found, n)
			}
		}
	}
	found.Input += found.Written
	*u = found
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
	n := 0
	for n < len(s) && n < 16 && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	value, err := strconv.ParseFloat(string(s[:n]), 64)
	return value, err == nil && value <= mostTokens
}
