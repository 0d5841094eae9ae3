package otlp

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestMessage_IsThatOfTheLibrary compares what is written and read here with what Google's library does.
func TestMessage_IsThatOfTheLibrary(t *testing.T) {
	var got message
	got.number(1, 300)
	got.flags(2, 257)
	got = append(got, protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), 7)...)
	got.text(400, "text")
	got.inner(5, func(*message) {})
	value(&got, true)
	value(&got, int64(-1))

	want := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 300)
	want = protowire.AppendFixed32(protowire.AppendTag(want, 2, protowire.Fixed32Type), 257)
	want = protowire.AppendFixed64(protowire.AppendTag(want, 3, protowire.Fixed64Type), 7)
	want = protowire.AppendString(protowire.AppendTag(want, 400, protowire.BytesType), "text")
	want = protowire.AppendBytes(protowire.AppendTag(want, 5, protowire.BytesType), nil)
	want = protowire.AppendVarint(protowire.AppendTag(want, 2, protowire.VarintType), 1)
	want = protowire.AppendVarint(protowire.AppendTag(want, 3, protowire.VarintType), 1<<64-1)
	if !bytes.Equal(got, want) {
		t.Errorf("the message is %x, want %x", got, want)
	}
	for number, want := range map[uint64]string{400: "text", 5: "", 1: "", 6: ""} {
		if text := field(got, number); string(text) != want || (text == nil) != (number == 1 || number == 6) {
			t.Errorf("field %d: got %q, want %q", number, text, want)
		}
	}
	for end := range len(got) {
		_ = field(got[:end], 6) // a message that breaks off is none, and no reason to panic
	}
	for _, broken := range []string{"\x0b", "\x82", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", "\x09\x01", "\x0a\x05abc"} {
		if text := field([]byte(broken), 1); text != nil {
			t.Errorf("field of %x: got %q, want none", broken, text)
		}
	}
}
