package redact

import (
	"slices"
	"strings"
	"unicode"
)

// The bounds of an outline: words and bytes.
const (
	outlineWords = 12
	outlineBytes = 120
	longestWord  = 24
)

// Outline returns the plain words at the start of an error's sentence, with an asterisk in place of everything
// that may be private: what is in quotes or brackets, and words with a digit or a sign in them, such as keys,
// ids, addresses and the names of models. It ends with the first sentence, or before what a colon introduces: a
// prompt may follow.
func Outline(text string) string {
	var out []string
	words, size := 0, 0
	for field := range strings.FieldsFuncSeq(unquoted(text), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("，、；", r) }) {
		word := strings.TrimRight(field, punctuation)
		switch {
		case isPlainWord(word):
			if size+len(word) > outlineBytes {
				return joined(out)
			}
			out, words, size = append(out, word), words+1, size+len(word)+1
		case len(out) > 0:
			out = append(out, "*")
		}
		if strings.ContainsAny(field[len(word):], sentenceEnds) && words >= 3 || words == outlineWords {
			break
		}
		if len(word) < len(field) && len(out) > 0 {
			out = append(out, "*")
		}
	}
	return joined(out)
}

const (
	sentenceEnds = ".:;!?。：！？"
	punctuation  = sentenceEnds + ","
)

// joined joins words, without asterisks at the end.
func joined(words []string) string {
	words = slices.CompactFunc(words, func(a, b string) bool { return a == "*" && b == "*" })
	return strings.TrimRight(strings.Join(words, " "), " *")
}

// isPlainWord reports whether a word has letters only, and an apostrophe or a hyphen between them.
func isPlainWord(word string) bool {
	inner := strings.NewReplacer("'", "", "’", "", "-", "").Replace(word)
	return inner != "" && len(word) <= longestWord && strings.IndexFunc(inner, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 &&
		!strings.HasPrefix(word, "-")
}

// pairs are quotes and brackets, and what ends them.
var pairs = map[rune]rune{'"': '"', '`': '`', '“': '”', '«': '»', '「': '」', '『': '』', '(': ')', '[': ']', '{': '}', '<': '>', '\'': '\''}

// unquoted returns a text with an asterisk in place of what is in quotes or brackets. An apostrophe inside a word
// is not a quote.
func unquoted(text string) string {
	var b strings.Builder
	var until, before rune
	for _, r := range text {
		switch {
		case until != 0:
			if r == until {
				until = 0
			}
		case pairs[r] != 0 && !(r == '\'' && unicode.IsLetter(before)):
			b.WriteString(" 0 ") // is no plain word
			until = pairs[r]
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}
