package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bound gives the text as valid UTF-8. Of a text above n bytes it keeps a half
// at the beginning and a half at the end, about n bytes in all, and puts a line
// between them that says how much is missing.
func bound(text string, n int) string {
	if n <= 0 {
		n = size
	}
	if len(text) > n {
		head, tail := text[:back(text, n/2)], text[forth(text, len(text)-n/2):]
		text = fmt.Sprintf("%s\n[%d bytes are left out here]\n%s", head, len(text)-len(head)-len(tail), tail)
	}
	return strings.ToValidUTF8(text, "?")
}

// back gives the place at or before i where a character begins.
func back(text string, i int) int {
	for b := i; b > 0 && b > i-utf8.UTFMax; b-- {
		if utf8.RuneStart(text[b]) {
			return b
		}
	}
	return i
}

// forth gives the place at or after i where a character begins.
func forth(text string, i int) int {
	for f := i; f < len(text) && f < i+utf8.UTFMax; f++ {
		if utf8.RuneStart(text[f]) {
			return f
		}
	}
	return i
}
