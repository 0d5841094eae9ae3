// Package printable makes foreign text safe for terminals: what models, providers and clients wrote, file names and
// error messages. A terminal obeys control characters, and characters that nothing shows hide what a text says.
// Output that goes elsewhere stays as it is.
package printable

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is the length of the longest [Line], in characters.
const MaxLine = 200

// These characters join letters and emoji. They are also used to hide text.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// selectors are the variation selectors other than those of emoji. They can carry a hidden text.
var selectors = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}}}

// Is reports whether a terminal shows r and does nothing else. Line ends and tabs are printable. Controls of the
// direction of text, zero-width characters and tags are not.
func Is(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return ' ' <= r && r <= '~' || r == '\n' || r == '\t'
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return true
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, selectors)
}

// Text replaces the control characters of a text by their pictures and drops other characters that are not
// printable. Joiners stay, except next to ASCII, where they have no effect. The parts of a text may be converted
// separately.
func Text(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for afterASCII := false; s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		beforeASCII := s != "" && s[0] < utf8.RuneSelf
		if Is(r) || (r == joiner || r == nonJoiner) && !afterASCII && !beforeASCII {
			b.WriteRune(r)
		} else {
			b.WriteString(picture(r))
		}
		afterASCII = r < utf8.RuneSelf
	}
	return b.String()
}

func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || !Is(rune(s[i])) {
			return false
		}
	}
	return true
}

// picture returns what is shown instead of a character that is not printable.
func picture(r rune) string {
	switch {
	case r == '\r':
		return ""
	case r < ' ':
		return string('␀' + r)
	case r == '\x7f':
		return "␡"
	case unicode.IsControl(r):
		return string(unicode.ReplacementChar)
	case unicode.In(r, unicode.Zl, unicode.Zp):
		return "\n"
	}
	return ""
}

// Line returns a text on one line of at most 200 characters.
func Line(s string) string { return Truncate(s, MaxLine) }

// Truncate returns a text on one line of at most n characters.
func Truncate(s string, n int) string {
	s = Text(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// OnlyASCII reports whether the locale has ASCII characters only. An unset locale, as of a program started by
// another, has more.
func OnlyASCII(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// ASCII replaces the glyphs of our lines by characters that every terminal has.
func ASCII(line string) string {
	return strings.NewReplacer("▲", "!", "✓", "+", "✗", "x", "—", "-", "…", "...", "•", "|", "·", "-", "│", "|", "─", "-", "┼", "+").Replace(line)
}
