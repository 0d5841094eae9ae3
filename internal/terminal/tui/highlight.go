package tui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// highlight colors code by its tokens, or in one color if its language is unknown. It knows no grammar: comments, strings,
// numbers, keywords, functions and keys make code easy to read, and are found without reading the rest.
func (m markdown) highlight(source, language string) string {
	if !m.paint.color {
		return source
	}
	var b strings.Builder
	draw := func(color ink, text string) { // a color must not reach over the end of a line
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			if color != (ink{}) && strings.TrimSpace(line) != "" {
				line = m.paint.foreground(color).Render(line)
			}
			b.WriteString(line)
		}
	}
	switch s := syntaxOf(language); {
	case s == nil:
		draw(cyan, source)
	case s.diff:
		for line := range strings.Lines(source) {
			draw(diffColor(line), line)
		}
	default:
		s.tokens(source, draw)
	}
	return b.String()
}

// diffColor returns the color of a line of a patch.
func diffColor(line string) ink {
	for begin, color := range map[string]ink{"+": green, "-": red, "@@": magenta} {
		if strings.HasPrefix(line, begin) {
			return color
		}
	}
	return ink{}
}

// tokens cuts a source into tokens and hands each on with its color.
func (s *syntax) tokens(source string, draw func(color ink, text string)) {
	before := '\n'
	for source != "" {
		color, n := s.token(source, before)
		draw(color, source[:n])
		before, _ = utf8.DecodeLastRuneInString(source[:n])
		source = source[n:]
	}
}

// token returns the first token of a source that is not empty: its color, the zero ink for none, and its length.
func (s *syntax) token(source string, before rune) (color ink, n int) {
	if s.block[0] != "" && strings.HasPrefix(source, s.block[0]) {
		return grey, through(source, s.block[1], len(s.block[0]))
	}
	for _, begin := range s.comments {
		if strings.HasPrefix(source, begin) && (begin != "#" && !s.keys || unicode.IsSpace(before)) { // neither $# nor http://
			return grey, until(source, "\n")
		}
	}
	for _, quote := range s.quotes {
		if n := quoted(source, quote); n > 0 && !inWord(before) {
			if s.keys && isKey(source[n:]) {
				return cyan, n
			}
			return green, n
		}
	}
	first, size := utf8.DecodeRuneInString(source)
	if !inWord(first) {
		if s.tags && first == '<' {
			size += len(source[1:]) - len(strings.TrimLeft(source[1:], "/!?"))
			return cyan, size + s.word(source[size:])
		}
		return ink{}, size
	}
	n = s.word(source)
	switch text := source[:n]; {
	case unicode.IsDigit(first):
		return amber, n
	case s.hasKeyword(text):
		return magenta, n
	case s.keys && isKey(source[n:]), strings.HasPrefix(source[n:], "("): // a function
		return cyan, n
	}
	return ink{}, n
}

// quoted returns the length of the string with which a source begins, or 0. A quote that is not closed in its line,
// such as an apostrophe or a lifetime, begins no string, unless it is triple or a backtick.
func quoted(source, quote string) int {
	if !strings.HasPrefix(source, quote) {
		return 0
	}
	for i := len(quote); i < len(source); i++ {
		switch {
		case strings.HasPrefix(source[i:], quote):
			return i + len(quote)
		case source[i] == '\\':
			i++
		case source[i] == '\n' && len(quote) == 1 && quote != "`":
			return 0
		}
	}
	return 0
}

// word returns the length of the word with which a source begins. A point belongs to a number, and a hyphen to a name where
// names may have one.
func (s *syntax) word(source string) int {
	for i, r := range source {
		number := unicode.IsDigit(rune(source[0]))
		if !inWord(r) && (r != '.' || !number) && (r != '-' || number || i == 0 || !s.keys && !s.tags) {
			return i
		}
	}
	return len(source)
}

func inWord(r rune) bool {
	return r == '_' || r == '$' || r == '@' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isKey reports whether what follows a word makes it a key.
func isKey(rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	return strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "://") || strings.HasPrefix(rest, "=")
}

// until returns the length of a text before an end, or all of it.
func until(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i
	}
	return len(text)
}

// through returns the length of a text with the first end from an offset on, or all of it.
func through(text, end string, from int) int {
	return min(from+until(text[from:], end)+len(end), len(text))
}

func (s *syntax) hasKeyword(text string) bool {
	if s.anyCase {
		text = strings.ToLower(text)
	}
	return slices.Contains(s.keywords, text)
}
