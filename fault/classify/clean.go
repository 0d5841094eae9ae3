package classify

import (
	"strings"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
)

// messageLimit bounds Error.Message, in bytes.
const messageLimit = 2 << 10

// clean returns a text as it may be shown: valid UTF-8 without control characters or credentials, at most
// limit bytes long.
func clean(s string, limit int) string {
	if len(s) > 2*limit {
		s = s[:2*limit]
	}
	if !isPlain(s) {
		s = strings.Map(printable, strings.ToValidUTF8(s, "\uFFFD"))
	}
	s = strings.TrimSpace(s)
	s = fault.Scrub(s)
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && !utf8.RuneStart(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return strings.ToValidUTF8(s, "")
}

// isPlain reports whether a text is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\n') || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// printable replaces control characters by spaces: terminals would interpret them.
func printable(r rune) rune {
	if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}
