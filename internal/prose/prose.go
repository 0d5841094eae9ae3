// Package prose breaks text into lines, for pages that programs write.
package prose

import (
	"strings"
	"unicode/utf8"
)

// Columns is how long a line of a page may be.
const Columns = 110

// Wrap breaks a text into lines of at most so many characters. A longer word has a line of its own.
func Wrap(text string, columns int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+width > columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}
