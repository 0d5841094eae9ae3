package display_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/llm"
)

func TestArguments_HidesCredentials(t *testing.T) {
	got := display.Arguments(llm.ToolCall{Arguments: []byte(`{"url":"https://x","key":"sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}`)})
	if strings.Contains(got, "abcdefghij") || !strings.Contains(got, `"url":"https://x"`) {
		t.Errorf("Arguments: got %q, want them without the key", got)
	}
}

func TestArguments_ShowsHiddenCharacters(t *testing.T) {
	got, want := display.Arguments(llm.ToolCall{Arguments: []byte("{\"path\":\"a\u202eb\u200bc\"}")}), `{"path":"a\u202eb\u200bc"}`
	if got != want {
		t.Errorf("Arguments: got %q, want %q", got, want)
	}
}

func TestASCII_LeavesNoOtherCharacters(t *testing.T) {
	lines := []string{waitLine(busy, 5e9, 100, "r now"), waitLine(busy, 5e9, 40), display.Recovered(2, 2e9), display.BrokeOff, display.Restarted, display.Compacted}
	for _, line := range lines {
		if got := printable.ASCII(line); strings.ContainsFunc(got, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("ASCII(%q): got %q, want ASCII only", line, got)
		}
	}
}
