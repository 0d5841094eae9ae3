package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// normal is a text in which a run of white space counts as one space. It has no white space before its
// first character. A text that has come in part may end in a space.
type normal struct {
	text  string
	start []int // for each byte of text: where its character begins in the original
}

// normalize returns the normal form of a text.
func normalize(s string) normal {
	var b strings.Builder
	n := normal{start: make([]int, 0, len(s))}
	space := true // none at the beginning
	for i, r := range s {
		switch isSpace := unicode.IsSpace(r); {
		case isSpace && space:
			continue
		case isSpace:
			r = ' '
		}
		space = r == ' '
		for range utf8.RuneLen(r) {
			n.start = append(n.start, i)
		}
		b.WriteRune(r)
	}
	n.text = b.String()
	return n
}

// trimmed returns the text without the space at its end.
func (n normal) trimmed() normal {
	n.text = strings.TrimSuffix(n.text, " ")
	n.start = n.start[:len(n.text)]
	return n
}

// end returns where the first length bytes of the normal form end in the original. They must not end in a
// space.
func (n normal) end(length int) int {
	_, size := utf8.DecodeLastRuneInString(n.text[:length])
	return n.start[length-1] + size
}

// Tokens estimates the number of tokens of a text, rather too high than too low: a word of letters has one
// for each five, any other character is one, and what takes four bytes, such as an emoji, is three. Spaces
// belong to the words after them.
func Tokens(s string) int {
	n, letters := 0, 0
	for _, r := range s {
		if r < utf8.RuneSelf && unicode.IsLetter(r) {
			if letters%5 == 0 {
				n++
			}
			letters++
			continue
		}
		letters = 0
		switch {
		case r == ' ':
		case r > 0xffff:
			n += 3
		default:
			n++
		}
	}
	return n
}

// inFence reports whether a Markdown text ends inside a fenced block of code.
func inFence(s string) bool {
	open := false
	for line := range strings.Lines(s) {
		if isFence(line) {
			open = !open
		}
	}
	return open
}

// isFence reports whether a line begins or ends a fenced block.
func isFence(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, fence) || strings.HasPrefix(line, "~~~")
}

// fence is what a fenced block of code begins and ends with.
const fence = "```"
