package text_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/text"
)

func TestWrap_FillsLines(t *testing.T) {
	word := func(n int) string { return strings.Repeat("ä", n) }
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"spaces and lines of its own", "  one\n two ", "one two"},
		{"a line that is full", word(54) + " " + word(55), word(54) + " " + word(55)},
		{"a character too many", word(55) + " " + word(55), word(55) + "\n" + word(55)},
		{"a word longer than a line", "a " + word(111) + " b", "a\n" + word(111) + "\nb"},
	} {
		if got := text.Wrap(test.text, text.Columns); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got, want := text.Wrap("one two three  four", 9), "one two\nthree\nfour"; got != want {
		t.Errorf("lines of nine: got %q, want %q", got, want)
	}
}
