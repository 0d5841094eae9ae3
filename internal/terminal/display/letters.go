package display

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// lineBound is how long a line about something may bearably be, in characters.
const lineBound = 200

// OneLine gives a text of somebody else's on one line of bearable length.
func OneLine(s string) string { return Truncate(s, lineBound) }

// Truncate gives a text of somebody else's on one line of so many characters at
// most.
func Truncate(s string, most int) string {
	s = strings.Map(upright, Sanitize(strings.Join(strings.Fields(s), " ")))
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Arguments gives what a tool is called with, without what looks like a
// credential. It is as long as it is, and somebody else's.
func Arguments(call llm.ToolCall) string { return fault.Scrub(string(call.Arguments)) }

// Sanitize gives a text of somebody else's in which a terminal finds nothing to
// obey: instead of a control character there is the picture of one. Line ends
// and tabs stay.
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

// upright takes away what turns the order of letters around: in the middle of
// a line of ours it would turn that as well.
func upright(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}

// OnlyASCII tells whether the locale says that there are no other letters. One
// that says nothing is that of a program that was started by another.
func OnlyASCII(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// ASCII gives a line of ours in the letters that every terminal has.
func ASCII(line string) string {
	return strings.NewReplacer("▲", "!", "✓", "+", "✗", "x", "—", "-", "…", "...", "•", "|", "·", "-").Replace(line)
}
