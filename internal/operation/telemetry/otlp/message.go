package otlp

import (
	"encoding/binary"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
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
func (m *message) time(field protowire.Number, at time.Time) {
	if nanos := at.UnixNano(); !at.IsZero() && nanos > 0 {
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

// export returns an ExportTraceServiceRequest.
func export(b tracing.Batch) []byte {
	var m message
	m.inner(1, func(m *message) {
		m.inner(1, func(m *message) { attributes(m, 1, b.Resource) })
		m.inner(2, func(m *message) {
			m.inner(1, func(m *message) {
				m.text(1, b.Scope)
				m.text(2, b.Version)
			})
			for i := range b.Spans {
				m.inner(2, func(m *message) { span(m, &b.Spans[i]) })
			}
		})
	})
	return m
}

func span(m *message, s *tracing.Span) {
	m.bytes(1, s.TraceID[:])
	m.bytes(2, s.SpanID[:])
	if s.Parent.IsValid() {
		m.bytes(4, s.Parent.SpanID[:])
	}
	m.text(5, s.Name)
	m.number(6, uint64(s.Kind))
	m.time(7, s.Start)
	m.time(8, s.End)
	attributes(m, 9, s.Attributes)
	for _, e := range s.Events {
		m.inner(11, func(m *message) {
			m.time(1, e.Time)
			m.text(2, e.Name)
			attributes(m, 3, e.Attributes)
		})
	}
	m.count(12, s.DroppedEvents)
	m.inner(15, func(m *message) {
		if s.Failed {
			m.text(2, s.Description)
			m.number(3, failed)
		}
	})
	m.flags(16, flags(s))
}

// failed is the code of a span's status.
const failed = 2

// Bits of a span's flags: it is sampled (W3C's), it is known whether the parent is remote, and it is.
const (
	sampled     = 0x1
	remoteKnown = 0x100
	remote      = 0x200
)

func flags(s *tracing.Span) uint32 {
	f := uint32(remoteKnown)
	if s.Sampled {
		f |= sampled
	}
	if s.Parent.Remote {
		f |= remote
	}
	return f
}

// attributes writes a repeated KeyValue.
func attributes(m *message, field protowire.Number, all []tracing.Attribute) {
	for _, a := range all {
		m.inner(field, func(m *message) {
			m.text(1, string(a.Key))
			m.inner(2, func(m *message) { value(m, a.Value) })
		})
	}
}

// value writes an AnyValue: one of its fields, though it be the default.
func value(m *message, v any) {
	switch v := v.(type) {
	case string:
		m.bytes(1, []byte(v))
	case bool:
		*m = protowire.AppendVarint(protowire.AppendTag(*m, 2, protowire.VarintType), protowire.EncodeBool(v))
	case int64:
		*m = protowire.AppendVarint(protowire.AppendTag(*m, 3, protowire.VarintType), uint64(v))
	case float64:
		*m = protowire.AppendTag(*m, 4, protowire.Fixed64Type)
		*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
	}
}
