package classify_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFromResponse_MessageIsBoundedPrintableAndScrubbed(t *testing.T) {
	tests := []struct{ message, want string }{
		{"bad key sk-ant-0123456789", "bad key ***"},
		{"\x1b[31mred\a", "[31mred"},
		{"\xff\xfe", "\uFFFD"},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(400, nil, []byte(tt.message), start); f.Message != tt.want {
			t.Errorf("FromResponse(400, %q): message %q, want %q", tt.message, f.Message, tt.want)
		}
	}
	for before := range 3 {
		f := classify.FromResponse(400, nil, []byte(strings.Repeat("a", before)+strings.Repeat("€", 4000)), start)
		if len(f.Message) > 2<<10 || len(f.Message) <= 2<<10-3 || !utf8.ValidString(f.Message) {
			t.Errorf("message of %d bytes, valid UTF-8 %v; want the characters that fit into 2048, true", len(f.Message), utf8.ValidString(f.Message))
		}
	}
}
