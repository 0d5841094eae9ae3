package api

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// A message of AWS's event streams (smithy.io: "Amazon Event Stream Specification") is its length and that of
// its headers, a checksum of the two, the headers, the payload, and a checksum of all that.
const (
	awsPrelude    = 12       // two lengths and their checksum
	awsOverhead   = 16       // the least length of a message
	awsMaxMessage = 24 << 20 // the most that AWS allows
)

const contentTypeAWS = "application/vnd.amazon.eventstream"

// AWSMessage is a message of AWS's event streams.
type AWSMessage struct {
	kind    []byte // :message-type: event, exception or error
	name    []byte // of the event, the exception or the error
	text    []byte // :error-message
	Payload []byte
}

// cutAWSMessage returns the length of the first message; 0: it is incomplete; -1: the stream begins with something
// else, or with a damaged message.
func cutAWSMessage(stream []byte) int {
	if len(stream) < awsPrelude {
		return 0
	}
	size, headers := binary.BigEndian.Uint32(stream), binary.BigEndian.Uint32(stream[4:])
	switch {
	case binary.BigEndian.Uint32(stream[8:]) != crc32.ChecksumIEEE(stream[:8]),
		size < awsOverhead, size > awsMaxMessage, headers > size-awsOverhead:
		return -1
	case uint64(len(stream)) < uint64(size):
		return 0
	}
	body := stream[:size-4]
	if binary.BigEndian.Uint32(stream[size-4:]) != crc32.ChecksumIEEE(body) {
		return -1
	}
	if _, ok := ParseAWSMessage(stream[:size]); !ok {
		return -1
	}
	return int(size)
}

// ParseAWSMessage reads a whole message; false: it cannot be read.
func ParseAWSMessage(frame []byte) (m AWSMessage, ok bool) {
	if len(frame) < awsOverhead {
		return m, false
	}
	size := uint64(binary.BigEndian.Uint32(frame[4:]))
	if size > uint64(len(frame)-awsOverhead) {
		return m, false
	}
	headers := frame[awsPrelude : awsPrelude+size]
	m.Payload = frame[awsPrelude+size : len(frame)-4]
	for len(headers) > 0 {
		var name, value []byte
		if name, value, headers, ok = cutAWSHeader(headers); !ok {
			return m, false
		}
		switch string(name) {
		case ":message-type":
			m.kind = value
		case ":event-type", ":exception-type", ":error-code":
			m.name = value
		case ":error-message":
			m.text = value
		}
	}
	return m, true
}

// awsValueSize is the size of a header's value by its type. Types 6 and 7, bytes and a string, state their own.
var awsValueSize = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 6: -1, 7: -1, 8: 8, 9: 16}

// cutAWSHeader returns the first header and the others; false: it cannot be read.
func cutAWSHeader(headers []byte) (name, value, rest []byte, ok bool) {
	n := 1 + int(headers[0])
	if len(headers) < n+1 || int(headers[n]) >= len(awsValueSize) {
		return nil, nil, nil, false
	}
	name, rest = headers[1:n], headers[n+1:]
	size := awsValueSize[headers[n]]
	if size < 0 {
		if len(rest) < 2 {
			return nil, nil, nil, false
		}
		size, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
	}
	if len(rest) < size {
		return nil, nil, nil, false
	}
	return name, rest[:size], rest[size:], true
}

// AWSFrame returns a message with a JSON payload: an event, or an exception.
func AWSFrame(kind, name string, payload []byte) []byte {
	frame := make([]byte, awsPrelude, awsPrelude+128+len(payload))
	frame = appendAWSHeader(frame, ":"+kind+"-type", name)
	frame = appendAWSHeader(frame, ":content-type", "application/json")
	frame = appendAWSHeader(frame, ":message-type", kind)
	headers := len(frame) - awsPrelude
	frame = append(frame, payload...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)+4))
	binary.BigEndian.PutUint32(frame[4:], uint32(headers))
	binary.BigEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(frame[:8]))
	return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
}

// appendAWSHeader appends a header with a string.
func appendAWSHeader(frame []byte, name, value string) []byte {
	frame = append(append(frame, byte(len(name))), name...)
	frame = binary.BigEndian.AppendUint16(append(frame, 7), uint16(len(value)))
	return append(frame, value...)
}

// awsPayload returns an event's name and its JSON. That of a chunk of InvokeModelWithResponseStream is the
// model's own, which is in base64.
func awsPayload(frame []byte) (name, data []byte) {
	m, _ := ParseAWSMessage(frame)
	if string(m.name) != "chunk" {
		return m.name, m.Payload
	}
	text := bytes.Trim(Member(m.Payload, "bytes"), `"`)
	data = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	if err != nil {
		return m.name, nil
	}
	return m.name, data[:n]
}

// isAWSError reports whether a message is an exception or an error.
func isAWSError(frame []byte) bool {
	m, ok := ParseAWSMessage(frame)
	return !ok || string(m.kind) == "exception" || string(m.kind) == "error"
}

// awsErrorText returns an error as the JSON in which AWS's SDKs name it: {"throttlingException":{"message":…}}.
func awsErrorText(frame []byte) []byte {
	m, _ := ParseAWSMessage(frame)
	if !isAWSError(frame) {
		_, data := awsPayload(frame)
		return data
	}
	name := string(Quote(string(m.name)))
	if string(m.kind) == "error" {
		return []byte(`{"__type":` + name + `,"message":` + string(Quote(string(m.text))) + `}`)
	}
	if !json.Valid(m.Payload) {
		m.Payload = Object{}.With("message", Quote(string(m.Payload))).JSON()
	}
	return []byte(`{` + name + `:` + string(m.Payload) + `}`)
}

// AWSEvent returns an event of an AWS stream. The model's own in a chunk is in base64.
func AWSEvent(name, data []byte) []byte {
	if string(name) == "chunk" {
		data = []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString(data) + `"}`)
	}
	return AWSFrame("event", string(name), data)
}
