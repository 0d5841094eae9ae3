package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
)

// AWSMessage returns a message as AWS's own encoder writes it. The headers are pairs of a name and a value.
func AWSMessage(payload string, headers ...string) []byte {
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// AWSEvent returns an event.
func AWSEvent(name, payload string) []byte {
	return AWSMessage(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

// awsChunk returns a model's event in a chunk.
func awsChunk(event string) []byte {
	return AWSEvent("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abcdefg"}`)
}

// awsException returns an exception.
func awsException(name, payload string) []byte {
	return AWSMessage(payload, ":exception-type", name, ":content-type", "application/json", ":message-type", "exception")
}

// readAWS reads messages with AWS's own decoder.
func readAWS(t *testing.T, stream []byte) (all []eventstream.Message) {
	t.Helper()
	for r := bytes.NewReader(stream); r.Len() > 0; {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			t.Fatalf("AWS's decoder on %q: %v", stream, err)
		}
		all = append(all, m)
	}
	return all
}

func TestForm_FrameLenOfAWSMessages(t *testing.T) {
	whole := AWSEvent("messageStart", `{"role":"assistant"}`)
	changed := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 1
		return b
	}
	headers := eventstream.Message{Payload: []byte("{}")}
	for name, v := range map[string]eventstream.Value{
		"a": eventstream.BoolValue(true), "b": eventstream.BoolValue(false), "c": eventstream.Int8Value(1), "d": eventstream.Int16Value(1),
		"e": eventstream.Int32Value(1), "f": eventstream.Int64Value(1), "g": eventstream.BytesValue("xyz"), "h": eventstream.StringValue(""),
		"i": eventstream.TimestampValue{}, "j": eventstream.UUIDValue{},
	} {
		headers.Headers.Set(name, v)
	}
	var every bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&every, headers); err != nil {
		t.Fatalf("encode: %v", err)
	}
	tests := []struct {
		name   string
		stream []byte
		want   int
	}{
		{"nothing", nil, 0},
		{"a part of the prelude", whole[:11], 0},
		{"the prelude", whole[:12], 0},
		{"all but a byte", whole[:len(whole)-1], 0},
		{"one message", whole, len(whole)},
		{"two messages", append(bytes.Clone(whole), whole...), len(whole)},
		{"every type of header", every.Bytes(), every.Len()},
		{"another length", changed(3), -1},
		{"another checksum of the prelude", changed(9), -1},
		{"another header", changed(14), -1},
		{"another payload", changed(len(whole) - 6), -1},
		{"another checksum", changed(len(whole) - 1), -1},
		{"a length beyond the bound", prelude(1<<31, 0), -1},
		{"a length of less than an empty message", prelude(15, 0), -1},
		{"headers longer than the message", prelude(100, 85), -1},
		{"a header of an unknown type", sealed([]byte("\x01a\x0a"), nil), -1},
		{"a header that ends in its name", sealed([]byte("\x09a"), nil), -1},
		{"a header that ends in its length", sealed([]byte("\x01a\x07\x00"), nil), -1},
		{"a header that ends in its value", sealed([]byte("\x01a\x07\x00\x09b"), nil), -1},
		{"a page", []byte("<!DOCTYPE html><html>"), -1},
	}
	for _, tt := range tests {
		if got := api.AWSEvents.FrameLen(tt.stream, 0); got != tt.want {
			t.Errorf("%s: FrameLen(%q) = %d, want %d", tt.name, tt.stream, got, tt.want)
		}
	}
}

// prelude returns the beginning of a message with these lengths.
func prelude(size, headers uint32) []byte {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, size), headers)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// sealed returns a message with right checksums.
func sealed(headers, payload []byte) []byte {
	b := prelude(uint32(16+len(headers)+len(payload)), uint32(len(headers)))
	b = append(append(b, headers...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func TestAPI_AWSMessagesAreReadByAWS(t *testing.T) {
	for _, d := range []*api.API{bedrock.Invoke(), bedrock.Converse()} {
		for _, m := range readAWS(t, append(d.Ping(api.AWSEvents, api.Client{}, ""), d.Ping(api.AWSEvents, api.Client{}, "retry 3")...)) {
			if got := m.Headers.Get(":event-type").String(); got != "keepalive" || !json.Valid(m.Payload) {
				t.Errorf("%s: a ping is the event %q with %q", d.Name(), got, m.Payload)
			}
		}
		for kind, want := range map[fault.Kind]string{
			fault.Overloaded: "serviceUnavailableException", fault.RateLimited: "throttlingException",
			fault.Truncated: "modelStreamErrorException", fault.Invalid: "validationException",
		} {
			event := d.ErrorEvent(api.AWSEvents, &fault.Error{Kind: kind}, `gone "now"`, true)
			m := readAWS(t, event)[0]
			got, text := m.Headers.Get(":exception-type").String(), string(m.Payload)
			if got != want || m.Headers.Get(":message-type").String() != "exception" || text != `{"message":"gone \"now\""}` {
				t.Errorf("%s: a fault of kind %v is the exception %q with %s, want %q", d.Name(), kind, got, text, want)
			}
		}
		if d.Aborts(api.AWSEvents) {
			t.Errorf("%s: a stream is cut after its exception", d.Name())
		}
	}
}

// Claude Code 2.1.197 and 2.1.330 give up after 300 s without an event of the model, and accept this one.
func TestBedrock_HeartbeatIsForClaudeCodeAlone(t *testing.T) {
	m := readAWS(t, bedrock.Invoke().Heartbeat(api.AWSEvents, claude))
	var chunk struct{ Bytes []byte }
	if len(m) != 1 || m[0].Headers.Get(":event-type").String() != "chunk" || json.Unmarshal(m[0].Payload, &chunk) != nil {
		t.Fatalf("the heartbeat is %+v, want one chunk", m)
	}
	if want := `{"type":"message_delta","delta":{},"usage":{"output_tokens":0}}`; string(chunk.Bytes) != want {
		t.Errorf("the heartbeat's chunk is %s, want %s", chunk.Bytes, want)
	}
	if beat := bedrock.Invoke().Heartbeat(api.AWSEvents, vercel); beat != nil {
		t.Errorf("another client has the heartbeat %q", beat)
	}
}

// FuzzAWSEvents holds our reading of messages against AWS's own decoder, and cuts them anywhere.
func FuzzAWSEvents(f *testing.F) {
	whole := AWSEvent("messageStart", `{"role":"assistant"}`)
	f.Add(whole, 3)
	f.Add(append(awsChunk(`{"type":"message_stop"}`), awsException("throttlingException", `{"message":"no"}`)...), 20)
	f.Add(AWSMessage("", ":error-code", "InternalError", ":error-message", "no", ":message-type", "error"), 7)
	f.Add(prelude(1<<31, 0), 5)
	f.Add(sealed([]byte("\x01a\x07\x00\x09b"), []byte("{}")), 9)
	f.Add(sealed([]byte("\x0b:event-type\x00\x02ab\x04abcd"), []byte("{}")), 9)
	f.Fuzz(func(t *testing.T, stream []byte, at int) {
		n := cutBothWays(t, api.AWSEvents, stream, at)
		m, err := eventstream.NewDecoder().Decode(bytes.NewReader(stream), nil)
		if n > 0 && (err != nil || uint64(n) != uint64(binary.BigEndian.Uint32(stream))) {
			t.Fatalf("FrameLen(%q) = %d, AWS's decoder: %v", stream, n, err)
		}
		if n <= 0 && err == nil {
			t.Fatalf("FrameLen(%q) = %d, AWS's decoder reads %+v", stream, n, m)
		}
		if n <= 0 {
			return
		}
		for _, d := range []*api.API{bedrock.Invoke(), bedrock.Converse()} {
			frame := stream[:n]
			kind := d.FrameKind(api.AWSEvents, frame)
			if later := d.LaterFrameKind(api.AWSEvents, frame); max(later, api.Content) != max(kind, api.Content) {
				t.Errorf("%s: %q is %d, after content %d", d.Name(), frame, kind, later)
			}
			_ = d.ErrorText(api.AWSEvents, frame)
			new(api.Tally).Add(d, api.AWSEvents, frame)
		}
		cut := stream[:max(0, at%n)]
		if got := api.AWSEvents.FrameLen(cut, 0); got > 0 {
			t.Errorf("FrameLen of %d of %d bytes of %q = %d", len(cut), n, stream, got)
		}
	})
}

// FuzzAWSException reads every exception that we write with AWS's own decoder.
func FuzzAWSException(f *testing.F) {
	f.Add("gone", uint8(3))
	f.Add("a \x00\xff\n\"text\"", uint8(0))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		d := bedrock.Converse()
		event := d.ErrorEvent(api.AWSEvents, &fault.Error{Kind: fault.Kind(kind) % (fault.Canceled + 1)}, text, false)
		m := readAWS(t, event)
		if len(m) != 1 || !json.Valid(m[0].Payload) || d.FrameKind(api.AWSEvents, event) != api.Failure {
			t.Errorf("the exception of %q is %+v", text, m)
		}
		ping := d.Ping(api.AWSEvents, api.Client{}, text)
		if m := readAWS(t, ping); len(m) != 1 || !json.Valid(m[0].Payload) || d.FrameKind(api.AWSEvents, ping) != api.Opening {
			t.Errorf("the ping of %q is %+v", text, m)
		}
	})
}
