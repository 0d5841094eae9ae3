package printable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

func TestText_ShowsWhatATerminalWouldObey(t *testing.T) {
	for given, want := range map[string]string{
		"a\x1b[2Jb":               "a␛[2Jb",
		"bell\a, nul\x00":         "bell␇, nul␀",
		"one\r\ntwo\n\tthree":     "one\ntwo\n\tthree",
		"del\x7f":                 "del␡",
		"c1 \u009b2J":             "c1 \ufffd2J",
		"byte \x9b2J":             "byte \ufffd2J",
		"größer 漢字":               "größer 漢字",
		"a\u202eb\u2066c\u200fd":  "abcd",
		"rm\u200b -rf\ufeff":      "rm -rf",
		"a\u2028b":                "a\nb",
		"a\U000e0041\U000e0100b":  "ab",
		"hang\u3164ul":            "hangul",
		"👨\u200d👩\u200d👧 ❤\ufe0f": "👨\u200d👩\u200d👧 ❤\ufe0f",
		"می\u200cخواهم":           "می\u200cخواهم",
		"x\u200dy \u200d漢":        "xy 漢",
		"\u200d":                  "\u200d", // a part of a text that is streamed
		"":                        "",
	} {
		if got := printable.Text(given); got != want {
			t.Errorf("Text(%q): got %q, want %q", given, got, want)
		}
	}
}

func TestTruncate_JoinsLines(t *testing.T) {
	if got, want := printable.Line("  a\n\tb\u202e c\r\nd\u2028e "), "a b c d e"; got != want {
		t.Errorf("Line: got %q, want %q", got, want)
	}
	if got, want := printable.Truncate("abcdef", 4), "abc…"; got != want {
		t.Errorf("Truncate: got %q, want %q", got, want)
	}
}

func TestJSON_EscapesWhatIsNotPrintable(t *testing.T) {
	for given, want := range map[string]string{
		`{"a":"plain"}`:                   `{"a":"plain"}`,
		"{\"a\":\"x\u202ey\u009bz\x7f\"}": `{"a":"x\u202ey\u009bz\u007f"}`,
		"[\"\U000e0041ö\u200d\"]\n":       `["\udb40\udc41ö\u200d"]` + "\n",
		"\"\x9b\"":                        `"\ufffd"`,
		"[1,\r\n2]":                       "[1, \n2]",
	} {
		if got := string(printable.JSON([]byte(given))); got != want {
			t.Errorf("JSON(%q): got %q, want %q", given, got, want)
		}
	}
}

// A character may be divided between two writes.
func TestWriters_ConvertWhatIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name  string
		over  func(io.Writer) io.Writer
		given string
		want  string
	}{
		{"text", printable.NewTextWriter, "ö\u202e漢\x1b👨\u200d👩\n", "ö漢␛👨\u200d👩\n"},
		{"JSON", printable.NewJSONWriter, "[\"ö\u202e漢\U000e0041\"]\n", `["ö\u202e漢\udb40\udc41"]` + "\n"},
	} {
		var whole, bytewise bytes.Buffer
		n, err := io.WriteString(tt.over(&whole), tt.given)
		if n != len(tt.given) || err != nil || whole.String() != tt.want {
			t.Errorf("%s writer of %q: got %d, %v and %q, want %d, no error and %q", tt.name, tt.given, n, err, whole.String(), len(tt.given), tt.want)
		}
		if _, err := io.Copy(tt.over(&bytewise), iotest.OneByteReader(strings.NewReader(tt.given))); err != nil || bytewise.String() != tt.want {
			t.Errorf("%s writer of %q byte by byte: got %v and %q, want no error and %q", tt.name, tt.given, err, bytewise.String(), tt.want)
		}
	}
}

func TestWriters_ReturnTheErrorOfAWrite(t *testing.T) {
	want := errors.New("closed")
	r, w := io.Pipe()
	if err := r.CloseWithError(want); err != nil {
		t.Fatalf("close the pipe: %v", err)
	}
	if n, err := printable.NewTextWriter(w).Write([]byte("a")); n != 0 || !errors.Is(err, want) {
		t.Errorf("Write: got %d, %v, want 0, %v", n, err, want)
	}
}

func TestOnlyASCII_ReadsTheLocale(t *testing.T) {
	for locale, want := range map[string]bool{"": false, "C": true, "POSIX": true, "C.UTF-8": false, "de_DE.utf8": false, "de_DE.ISO-8859-1": true} {
		if got := printable.OnlyASCII(func(name string) string { return map[string]string{"LANG": locale}[name] }); got != want {
			t.Errorf("OnlyASCII with LANG=%q: got %v, want %v", locale, got, want)
		}
	}
	over := map[string]string{"LC_ALL": "C", "LANG": "C.UTF-8"}
	if !printable.OnlyASCII(func(name string) string { return over[name] }) {
		t.Error("OnlyASCII with LC_ALL=C and LANG=C.UTF-8: got false, want true")
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]0;title\a\x9b31m plain \x00\r\n\u202e\u200d")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable.Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("Text(%q): got %q, which is not UTF-8", s, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !printable.Is(r) && r != '\u200c' && r != '\u200d' }) {
			t.Errorf("Text(%q): got %q with characters that are not printable", s, got)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add("\x1b]0;title\a\x9b31m plain \x00\r\n\u202e\u200d\U000e0041")
	f.Fuzz(func(t *testing.T, s string) {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("Marshal(%q): %v", s, err)
		}
		got := printable.JSON(text)
		if strings.ContainsFunc(string(got), func(r rune) bool { return !printable.Is(r) }) {
			t.Errorf("JSON(%q): got %q with characters that are not printable", text, got)
		}
		var before, after string
		if err := json.Unmarshal(text, &before); err != nil {
			t.Fatalf("Unmarshal(%q): %v", text, err)
		}
		if err := json.Unmarshal(got, &after); err != nil || after != before {
			t.Errorf("value of JSON(%q): got %q, %v, want %q", text, after, err, before)
		}
	})
}

func ExampleText() {
	fmt.Println(printable.Text("\x1b[2Jreport\u202efdp.exe"))
	// Output: ␛[2Jreportfdp.exe
}

func ExampleJSON() {
	fmt.Println(string(printable.JSON([]byte("{\"file\":\"report\u202efdp.exe\"}"))))
	// Output: {"file":"report\u202efdp.exe"}
}
