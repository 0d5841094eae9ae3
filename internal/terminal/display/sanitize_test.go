package display_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
)

func TestSanitize_ReplacesControlCharacters(t *testing.T) {
	for given, want := range map[string]string{
		"a\x1b[2Jb":           "a␛[2Jb",
		"bell\a, nul\x00":     "bell␇, nul␀",
		"one\r\ntwo\n\tthree": "one\ntwo\n\tthree",
		"del\x7f":             "del␡",
		"c1 \u009b2J":         "c1 \ufffd2J",
		"byte \x9b2J":         "byte \ufffd2J",
		"größer 漢字":           "größer 漢字",
	} {
		if got := display.Sanitize(given); got != want {
			t.Errorf("Sanitize(%q): got %q, want %q", given, got, want)
		}
	}
}

func TestTruncate_JoinsLinesAndDropsBidiControls(t *testing.T) {
	if got, want := display.OneLine("  a\n\tb\u202e c\r\nd "), "a b c d"; got != want {
		t.Errorf("OneLine: got %q, want %q", got, want)
	}
	if got, want := display.Truncate("abcdef", 4), "abc…"; got != want {
		t.Errorf("Truncate: got %q, want %q", got, want)
	}
}

func TestArguments_HidesCredentials(t *testing.T) {
	got := display.Arguments(llm.ToolCall{Arguments: []byte(`{"url":"https://x","key":"sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}`)})
	if strings.Contains(got, "abcdefghij") || !strings.Contains(got, `"url":"https://x"`) {
		t.Errorf("Arguments: got %q, want them without the key", got)
	}
}

func TestOnlyASCII_ReadsTheLocale(t *testing.T) {
	for locale, want := range map[string]bool{"": false, "C": true, "POSIX": true, "C.UTF-8": false, "de_DE.utf8": false, "de_DE.ISO-8859-1": true} {
		if got := display.OnlyASCII(func(name string) string { return map[string]string{"LANG": locale}[name] }); got != want {
			t.Errorf("OnlyASCII with LANG=%q: got %v, want %v", locale, got, want)
		}
	}
	over := map[string]string{"LC_ALL": "C", "LANG": "C.UTF-8"}
	if !display.OnlyASCII(func(name string) string { return over[name] }) {
		t.Error("OnlyASCII with LC_ALL=C and LANG=C.UTF-8: got false, want true")
	}
}

func TestASCII_LeavesNoOtherCharacters(t *testing.T) {
	lines := []string{waitLine(busy, 5e9, 100, "r now"), waitLine(busy, 5e9, 40), display.Recovered(2, 2e9), display.BrokeOff, display.Restarted, display.Compacted}
	for _, line := range lines {
		if got := display.ASCII(line); strings.ContainsFunc(got, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("ASCII(%q): got %q, want ASCII only", line, got)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\a\x9b31m plain \x00\r\n\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := display.Sanitize(s)
		if !utf8.ValidString(got) {
			t.Errorf("Sanitize(%q): got %q, which is not UTF-8", s, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("Sanitize(%q): got %q with control characters", s, got)
		}
	})
}
