// Package text writes for people: durations, counts, and texts of others at a length that fits.
package text

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Columns is how long a line of a page may be.
const Columns = 110

// Wrap breaks a text into lines of at most a given number of characters. A longer word has a line of its own.
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

// Clip returns the first bytes of a text, without what is no UTF-8: texts of others are bounded in logs, events and answers.
func Clip(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// Count returns a number with its noun: "1 try", "3 tries".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
