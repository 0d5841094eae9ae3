package otlp

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a Protocol Buffers message that is being written. Fields that have their default are left out, as
// proto3 does.
type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) {
	if s != "" {
		m.bytes(field, []byte(s))
	}
}

func (m *message) number(field protowire.Number, n uint64) {
	if n != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), n)
	}
}

// count writes a uint32.
func (m *message) count(field protowire.Number, n int) {
	m.number(field, uint64(min(max(n, 0), math.MaxUint32)))
}

// time writes nanoseconds since 1970.
func (m *message) time(field protowire.Number, nanos int64) {
	if nanos > 0 {
		*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), uint64(nanos))
	}
}

func (m *message) flags(field protowire.Number, flags uint32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), flags)
}

// inner writes a message in the message, though it be empty.
func (m *message) inner(field protowire.Number, write func(*message)) {
	var in message
	write(&in)
	m.bytes(field, in)
}

// export returns an ExportTraceServiceRequest. Spans of one resource and scope stand together.
func export(spans []sdktrace.ReadOnlySpan) []byte {
	type source struct {
		resource attribute.Distinct
		scope    instrumentation.Scope
	}
	var order []source
	of := make(map[source][]sdktrace.ReadOnlySpan)
	for _, s := range spans {
		k := source{s.Resource().Equivalent(), s.InstrumentationScope()}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], s)
	}
	var m message
	for _, k := range order {
		m.inner(1, func(m *message) { resourceSpans(m, of[k]) })
	}
	return m
}

// resourceSpans writes spans that share a resource and a scope.
func resourceSpans(m *message, spans []sdktrace.ReadOnlySpan) {
	resource, scope := spans[0].Resource(), spans[0].InstrumentationScope()
	m.inner(1, func(m *message) { attributes(m, 1, resource.Attributes()) })
	m.inner(2, func(m *message) {
		m.inner(1, func(m *message) {
			m.text(1, scope.Name)
			m.text(2, scope.Version)
			attributes(m, 3, scope.Attributes.ToSlice())
		})
		for _, s := range spans {
			m.inner(2, func(m *message) { span(m, s) })
		}
		m.text(3, scope.SchemaURL)
	})
	m.text(3, resource.SchemaURL())
}

func span(m *message, s sdktrace.ReadOnlySpan) {
	self, parent := s.SpanContext(), s.Parent()
	identity(m, self)
	if id := parent.SpanID(); id.IsValid() {
		m.bytes(4, id[:])
	}
	m.text(5, s.Name())
	m.number(6, uint64(max(s.SpanKind(), 0))) // OTLP counts them as the SDK does
	m.time(7, s.StartTime().UnixNano())
	m.time(8, s.EndTime().UnixNano())
	attributes(m, 9, s.Attributes())
	m.count(10, s.DroppedAttributes())
	for _, e := range s.Events() {
		m.inner(11, func(m *message) {
			m.time(1, e.Time.UnixNano())
			m.text(2, e.Name)
			attributes(m, 3, e.Attributes)
			m.count(4, e.DroppedAttributeCount)
		})
	}
	m.count(12, s.DroppedEvents())
	for _, l := range s.Links() {
		m.inner(13, func(m *message) {
			identity(m, l.SpanContext)
			attributes(m, 4, l.Attributes)
			m.count(5, l.DroppedAttributeCount)
			m.flags(6, flags(l.SpanContext, l.SpanContext))
		})
	}
	m.count(14, s.DroppedLinks())
	m.inner(15, func(m *message) {
		m.text(2, s.Status().Description)
		m.number(3, status[s.Status().Code])
	})
	m.flags(16, flags(self, parent))
}

// status has the codes of OTLP, which counts them otherwise than the SDK.
var status = map[codes.Code]uint64{codes.Ok: 1, codes.Error: 2}

// identity writes which span it is.
func identity(m *message, c trace.SpanContext) {
	traceID, spanID := c.TraceID(), c.SpanID()
	m.bytes(1, traceID[:])
	m.bytes(2, spanID[:])
	m.text(3, c.TraceState().String())
}

// Bits of a span's flags above those of W3C: it is known whether the parent is remote, and it is.
const (
	remoteKnown = 0x100
	remote      = 0x200
)

func flags(c, parent trace.SpanContext) uint32 {
	f := uint32(c.TraceFlags()) | remoteKnown
	if parent.IsRemote() {
		f |= remote
	}
	return f
}

// attributes writes a repeated KeyValue.
func attributes(m *message, field protowire.Number, all []attribute.KeyValue) {
	for _, a := range all {
		m.inner(field, func(m *message) {
			m.text(1, string(a.Key))
			m.inner(2, func(m *message) { value(m, a.Value) })
		})
	}
}

// value writes an AnyValue: one of its fields, though it be the default.
func value(m *message, v attribute.Value) {
	switch v.Type() {
	case attribute.STRING:
		m.bytes(1, []byte(v.AsString()))
	case attribute.BOOL:
		*m = protowire.AppendVarint(protowire.AppendTag(*m, 2, protowire.VarintType), protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		*m = protowire.AppendVarint(protowire.AppendTag(*m, 3, protowire.VarintType), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		*m = protowire.AppendTag(*m, 4, protowire.Fixed64Type)
		*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v.AsFloat64()))
	case attribute.BOOLSLICE:
		list(m, v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		list(m, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		list(m, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		list(m, v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		list(m, v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		m.inner(6, func(m *message) { attributes(m, 1, v.AsMap()) })
	case attribute.BYTESLICE:
		m.bytes(7, v.AsByteSlice())
	}
}

func list[T any](m *message, all []T, of func(T) attribute.Value) {
	m.inner(5, func(m *message) {
		for _, v := range all {
			m.inner(1, func(m *message) { value(m, of(v)) })
		}
	})
}
