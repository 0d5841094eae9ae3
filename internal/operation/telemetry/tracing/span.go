// Package tracing makes spans in OpenTelemetry's data model, and samples and batches them as its OTEL_ variables say. It
// has what a gateway needs of an SDK: no tracer but one, no links, no state of vendors. Package telemetry is its user,
// package otlp sends what it makes.
package tracing

import (
	"encoding/hex"
	"strings"
	"time"
)

// TraceID identifies a trace. All zero: none.
type TraceID [16]byte

// String returns the id in hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// SpanID identifies a span in its trace. All zero: none.
type SpanID [8]byte

// String returns the id in hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// Context is what a span's children know of it, in this process or another. Its zero value is that of no span.
type Context struct {
	TraceID TraceID
	SpanID  SpanID
	Sampled bool // it is exported
	Remote  bool // another process made it
}

// IsValid reports whether it is that of a span.
func (c Context) IsValid() bool { return c.TraceID != TraceID{} && c.SpanID != SpanID{} }

// Traceparent returns the header that names the span (W3C Trace Context).
func (c Context) Traceparent() string {
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	return "00-" + c.TraceID.String() + "-" + c.SpanID.String() + "-" + flags
}

// ParseTraceparent returns the context of another process's span by its header. That of a text of another form, or of an
// unknown kind, is zero. A later version may have more fields.
func ParseTraceparent(header string) Context {
	version, rest, _ := strings.Cut(header, "-")
	fields := strings.SplitN(rest, "-", 4)
	var v, flags [1]byte
	c := Context{Remote: true}
	if !decode(v[:], version) || v[0] == 0xff || len(fields) < 3 || v[0] == 0 && len(fields) > 3 ||
		!decode(c.TraceID[:], fields[0]) || !decode(c.SpanID[:], fields[1]) || !decode(flags[:], fields[2]) || !c.IsValid() {
		return Context{}
	}
	c.Sampled = flags[0]&1 != 0
	return c
}

// decode fills to with hexadecimal digits, which are lower-case; false: the text has others, or is longer or shorter.
func decode(to []byte, digits string) bool {
	if len(digits) != 2*len(to) || strings.ContainsAny(digits, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(to, []byte(digits))
	return err == nil
}

// Kind is how a span stands to others, with the numbers of the protocol.
type Kind uint8

// The kinds of spans that are made.
const (
	Internal Kind = 1 // something in this process
	Client   Kind = 3 // a request to another one
)

// Key is the name of an attribute.
type Key string

// Attribute describes a span, an event or what makes them.
type Attribute struct {
	Key   Key
	Value any // a string, bool, int64 or float64
}

// Text returns an attribute that is a text.
func (k Key) Text(v string) Attribute { return Attribute{k, v} }

// Bool returns an attribute that is yes or no.
func (k Key) Bool(v bool) Attribute { return Attribute{k, v} }

// Int returns an attribute that is a whole number.
func (k Key) Int(v int) Attribute { return Attribute{k, int64(v)} }

// Int64 is Int.
func (k Key) Int64(v int64) Attribute { return Attribute{k, v} }

// Seconds returns an attribute that is a duration in seconds.
func (k Key) Seconds(v time.Duration) Attribute { return Attribute{k, v.Seconds()} }

// Event is something that happened during a span.
type Event struct {
	Name       string
	Time       time.Time
	Attributes []Attribute
}

// Span is a part of a trace.
type Span struct {
	Context
	Parent        Context // zero: it is the first of its trace
	Name          string
	Kind          Kind
	Start, End    time.Time
	Attributes    []Attribute
	Events        []Event // the latest
	DroppedEvents int     // how many were before them
	Failed        bool
	Description   string // of the failure
}

// set sets an attribute, in the place that it has if it was set before.
func set(all []Attribute, a Attribute) []Attribute {
	for i := range all {
		if all[i].Key == a.Key {
			all[i] = a
			return all
		}
	}
	return append(all, a)
}
