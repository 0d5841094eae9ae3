package display

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// maxLine is the longest line of foreign text, in characters.
const maxLine = 200

// OneLine is foreign text on one line of at most 200 characters.
func OneLine(s string) string { return Truncate(s, maxLine) }

// Truncate is foreign text on one line of at most n characters.
func Truncate(s string, n int) string {
	s = strings.Map(dropBidi, Sanitize(strings.Join(strings.Fields(s), " ")))
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Arguments are the arguments of a tool call without anything that looks like a credential. They
// are foreign text of any length.
func Arguments(call llm.ToolCall) string { return fault.Scrub(string(call.Arguments)) }

// Sanitize replaces control characters in foreign text by their pictures, so that a terminal obeys
// none of them. Line ends and tabs stay.
func Sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case r < ' ':
			return '␀' + r
		case r == '\x7f':
			return '␡'
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// dropBidi removes the characters that reverse the direction of text: they would reverse the rest of
// our line as well.
func dropBidi(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}

// OnlyASCII reports whether the locale has no other characters. An unset locale is that of a program
// started by another, and has them.
func OnlyASCII(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// ASCII replaces the glyphs of our lines by characters that every terminal has.
func ASCII(line string) string {
	return strings.NewReplacer("▲", "!", "✓", "+", "✗", "x", "—", "-", "…", "...", "•", "|", "·", "-").Replace(line)
}

// Capitalize starts a text with a capital letter.
func Capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// plural counts things: "1 try", "3 tries".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
