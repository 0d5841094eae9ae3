package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// truncate returns the text as valid UTF-8. Of a text above n bytes it keeps a half at the beginning and a
// half at the end, about n bytes in all, with a line between them that says how much is missing.
func truncate(text string, n int) string {
	if n <= 0 {
		n = defaultMaxOutput
	}
	if len(text) > n {
		head, tail := text[:runeStartBefore(text, n/2)], text[runeStartAfter(text, len(text)-n/2):]
		text = fmt.Sprintf("%s\n[%d bytes are left out here]\n%s", head, len(text)-len(head)-len(tail), tail)
	}
	return strings.ToValidUTF8(text, "?")
}

// runeStartBefore returns the start of a character at or before i.
func runeStartBefore(text string, i int) int {
	for b := i; b > 0 && b > i-utf8.UTFMax; b-- {
		if utf8.RuneStart(text[b]) {
			return b
		}
	}
	return i
}

// runeStartAfter returns the start of a character at or after i.
func runeStartAfter(text string, i int) int {
	for f := i; f < len(text) && f < i+utf8.UTFMax; f++ {
		if utf8.RuneStart(text[f]) {
			return f
		}
	}
	return i
}
