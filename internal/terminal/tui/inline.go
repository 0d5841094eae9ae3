package tui

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// style is a set of text attributes.
type style uint8

const (
	bold style = 1 << iota
	italic
	strikethrough
	code
)

// styled returns text in a style.
func (m markdown) styled(text string, s style) string {
	if !m.paint.color || s == 0 || text == "" {
		return text
	}
	var a ansi.Style
	if s&bold != 0 {
		a = a.Bold()
	}
	if s&italic != 0 {
		a = a.Italic(true)
	}
	if s&strikethrough != 0 {
		a = a.Strikethrough(true)
	}
	if s&code != 0 {
		a = a.ForegroundColor(ansi.Cyan)
	}
	return a.Styled(text)
}

// span is a part of a line in one style.
type span struct {
	text  string
	style style

	mark          byte // the delimiter of an emphasis; 0: the span is text
	size          int  // the length of the delimiter run
	opens, closes bool
}

// inlineParser parses the inline content of a line.
type inlineParser struct {
	m     markdown
	text  string
	spans []span
}

// inline renders the inline content of a line. Without colors the delimiters stay.
func (m markdown) inline(text string, base style) string {
	var all, same strings.Builder
	current := base
	for _, p := range m.parseInline(text) {
		if p.style|base != current {
			all.WriteString(m.styled(same.String(), current))
			same.Reset()
			current = p.style | base
		}
		same.WriteString(p.text)
	}
	return all.String() + m.styled(same.String(), current)
}

// parseInline parses the inline content of a line.
func (m markdown) parseInline(text string) []span {
	s := inlineParser{m: m, text: text}
	from := 0
	for at := 0; at < len(text); {
		found, n := s.parseSpan(at)
		if n == 0 {
			at++
			continue
		}
		s.addText(text[from:at])
		s.spans = append(s.spans, found...)
		at += n
		from = at
	}
	s.addText(text[from:])
	if m.paint.color {
		s.emphasize()
	}
	for i := range s.spans {
		s.spans[i].mark = 0
	}
	return s.spans
}

func (p *inlineParser) addText(text string) {
	if text != "" {
		p.spans = append(p.spans, span{text: text})
	}
}

// parseSpan parses the construct at an offset and returns its length; 0 for plain text.
func (p *inlineParser) parseSpan(at int) ([]span, int) {
	rest := p.text[at:]
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rest[1]) >= 0 {
			return []span{{text: rest[1:2]}}, 2
		}
	case '`':
		return p.codeSpan(rest)
	case '*', '_', '~':
		return p.delimiterRun(at)
	case '[':
		return p.link(rest, 0)
	case '!':
		if strings.HasPrefix(rest, "![") {
			return p.link(rest, 1)
		}
	case '<':
		return htmlTag(rest)
	case '&':
		return entity(rest)
	case 'h':
		return p.bareURL(at)
	}
	return nil, 0
}

// codeSpan parses a code span. Without colors its delimiters stay.
func (p *inlineParser) codeSpan(rest string) ([]span, int) {
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	for at := n; at < len(rest); {
		begin := strings.IndexByte(rest[at:], '`')
		if begin < 0 {
			break
		}
		begin += at
		run := len(rest[begin:]) - len(strings.TrimLeft(rest[begin:], "`"))
		if at = begin + run; run != n {
			continue
		}
		text := strings.ReplaceAll(rest[n:begin], "\n", " ")
		if !p.m.paint.color {
			return []span{{text: rest[:n] + text + rest[:n]}}, at
		}
		if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && !isBlank(text) {
			text = text[1 : len(text)-1]
		}
		return []span{{text: text, style: code}}, at
	}
	return []span{{text: rest[:n]}}, n
}

// link parses a link or, behind a mark, an image. The address is shown, since a terminal does not
// show where a click leads.
func (p *inlineParser) link(rest string, mark int) ([]span, int) {
	end := closingBracket(rest, mark)
	if end < 0 || !strings.HasPrefix(rest[end+1:], "(") {
		return nil, 0
	}
	address, n := linkDestination(rest[end+1:])
	if n == 0 {
		return nil, 0
	}
	label := rest[mark+1 : end]
	pieces := p.m.parseInline(label)
	if mark > 0 {
		pieces = append([]span{{text: "image: "}}, pieces...)
	}
	if address != "" && address != label {
		pieces = append(pieces, span{text: " (" + address + ")"})
	}
	return pieces, end + 1 + n
}

// maxLabel is how long the text of a link may be.
const maxLabel = 1000

// closingBracket returns the index of the bracket that closes the one at index at; -1 for none.
func closingBracket(text string, at int) int {
	if !strings.Contains(text, "](") {
		return -1
	}
	depth := 0
	for text = text[:min(len(text), at+maxLabel)]; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '`':
			if n := strings.IndexByte(text[at+1:], '`'); n > 0 {
				at += n + 1
			}
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return -1
}

// linkDestination parses the address and title of a link in parentheses; n is 0 if there are none.
func linkDestination(text string) (address string, n int) {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '(':
			depth++
		case ')':
			if depth--; depth > 0 {
				continue
			}
			address, title, _ := strings.Cut(strings.TrimSpace(text[1:at]), " ")
			if title = strings.TrimSpace(title); title != "" && !strings.Contains(`"'(`, title[:1]) {
				return "", 0
			}
			return strings.TrimSuffix(strings.TrimPrefix(address, "<"), ">"), at + 1
		}
	}
	return "", 0
}

// htmlTag parses a tag, which is shown, or an address in angle brackets.
func htmlTag(rest string) ([]span, int) {
	end := strings.IndexAny(rest[1:], "<>\n") + 1
	if end < 2 || rest[end] != '>' {
		return nil, 0
	}
	body := rest[1:end]
	switch {
	case isAutolink(body):
		return []span{{text: body}}, end + 1
	case opensTag(body[0]):
		return []span{{text: rest[:end+1]}}, end + 1
	}
	return nil, 0
}

// isAutolink reports whether the text in angle brackets is an address.
func isAutolink(body string) bool {
	return !strings.ContainsAny(body, " <>") && isLetter(rune((body + " ")[0])) &&
		(strings.Contains(body, "://") || strings.HasPrefix(body, "mailto:") || strings.Contains(body, "@"))
}

// entity parses an HTML entity.
func entity(rest string) ([]span, int) {
	end := strings.IndexByte(rest[:min(len(rest), 34)], ';')
	if end < 2 {
		return nil, 0
	}
	text := html.UnescapeString(rest[:end+1])
	if text == rest[:end+1] || utf8.RuneCountInString(text) > 2 { // only a prefix is an entity
		return nil, 0
	}
	return []span{{text: printable.Text(strings.NewReplacer("\n", " ", "\t", " ").Replace(text))}}, end + 1
}

// bareURL parses an address in the text, so that nothing in it counts as a delimiter.
func (p *inlineParser) bareURL(at int) ([]span, int) {
	rest := p.text[at:]
	if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
		return nil, 0
	}
	if end := strings.IndexAny(rest, " \n<>`\"|"); end >= 0 {
		rest = rest[:end]
	}
	rest = strings.TrimRight(rest, "?!.,:;*_~'()[]")
	return []span{{text: rest}}, len(rest)
}

// delimiterRun parses a run of emphasis delimiters. Its neighbors decide whether it opens or closes
// an emphasis.
func (p *inlineParser) delimiterRun(at int) ([]span, int) {
	rest := p.text[at:]
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	before, _ := utf8.DecodeLastRuneInString(p.text[:at])
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if at == 0 {
		before = ' '
	}
	if n == len(rest) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isPunctuation(after) || unicode.IsSpace(before) || isPunctuation(before))
	right := !unicode.IsSpace(before) && (!isPunctuation(before) || unicode.IsSpace(after) || isPunctuation(after))
	s := span{text: rest[:n], mark: rest[0], size: n, opens: left, closes: right}
	switch {
	case rest[0] == '_':
		s.opens, s.closes = left && (!right || isPunctuation(before)), right && (!left || isPunctuation(after))
	case rest[0] == '~' && n > 2:
		s.mark = 0
	}
	return []span{s}, n
}

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
