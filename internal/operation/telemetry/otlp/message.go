package otlp

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
)

// message is a Protocol Buffers message that is being written. Fields that have their default are left out, as
// proto3 does.
type message []byte

// The forms of fields.
const (
	formVarint  = 0
	formFixed64 = 1
	formBytes   = 2
	formFixed32 = 5
)

// tag begins a field.
func (m *message) tag(field, form uint64) { *m = binary.AppendUvarint(*m, field<<3|form) }

// varint writes a number of any size, though it be the default.
func (m *message) varint(field, n uint64) {
	m.tag(field, formVarint)
	*m = binary.AppendUvarint(*m, n)
}

func (m *message) bytes(field uint64, b []byte) {
	m.tag(field, formBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(b))), b...)
}

func (m *message) text(field uint64, s string) {
	if s != "" {
		m.bytes(field, []byte(s))
	}
}

func (m *message) number(field uint64, n uint64) {
	if n != 0 {
		m.varint(field, n)
	}
}

// count writes a uint32.
func (m *message) count(field uint64, n int) {
	m.number(field, uint64(min(max(n, 0), math.MaxUint32)))
}

// time writes nanoseconds since 1970.
func (m *message) time(field uint64, at time.Time) {
	if nanos := at.UnixNano(); !at.IsZero() && nanos > 0 {
		m.tag(field, formFixed64)
		*m = binary.LittleEndian.AppendUint64(*m, uint64(nanos))
	}
}

func (m *message) flags(field uint64, flags uint32) {
	m.tag(field, formFixed32)
	*m = binary.LittleEndian.AppendUint32(*m, flags)
}

// inner writes a message in the message, though it be empty.
func (m *message) inner(field uint64, write func(*message)) {
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
func attributes(m *message, field uint64, all []tracing.Attribute) {
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
		n := uint64(0)
		if v {
			n = 1
		}
		m.varint(2, n)
	case int64:
		m.varint(3, uint64(v))
	case float64:
		m.tag(4, formFixed64)
		*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
	}
}

// field returns the bytes of a field of a message; nil: it has none, or is not a message.
func field(m []byte, number uint64) []byte {
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		if n <= 0 {
			return nil
		}
		m = m[n:]
		head, size := 0, uint64(0) // of the field: the length that it states, and what follows
		switch tag & 7 {
		case formVarint:
			_, head = binary.Uvarint(m)
		case formFixed64:
			size = 8
		case formFixed32:
			size = 4
		case formBytes:
			size, head = binary.Uvarint(m)
		default: // groups, which proto3 does not have
			return nil
		}
		if head < 0 || head == 0 && size == 0 || size > uint64(len(m)-head) {
			return nil
		}
		if tag == number<<3|formBytes {
			return m[head : head+int(size)]
		}
		m = m[head+int(size):]
	}
	return nil
}
