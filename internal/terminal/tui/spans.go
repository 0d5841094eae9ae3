package tui

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// looks are what a piece of a line may look like, all at once.
type looks uint8

const (
	bold looks = 1 << iota
	slanted
	struck
	coded
)

// look gives a text as it looks.
func (m markdown) look(text string, l looks) string {
	if !m.paint.color || l == 0 || text == "" {
		return text
	}
	var style ansi.Style
	if l&bold != 0 {
		style = style.Bold()
	}
	if l&slanted != 0 {
		style = style.Italic(true)
	}
	if l&struck != 0 {
		style = style.Strikethrough(true)
	}
	if l&coded != 0 {
		style = style.ForegroundColor(ansi.Cyan)
	}
	return style.Styled(text)
}

// piece is a part of a line that looks the same all along.
type piece struct {
	text string
	look looks

	mark          byte // of emphasis; 0: it is text
	size          int  // how long the run of the mark had been
	opens, closes bool
}

// spans is a line that is taken apart.
type spans struct {
	m      markdown
	text   string
	pieces []piece
}

// inline renders what stands in a line. Without colors the marks stay.
func (m markdown) inline(text string, look looks) string {
	var all, same strings.Builder
	now := look
	for _, p := range m.apart(text) {
		if p.look|look != now {
			all.WriteString(m.look(same.String(), now))
			same.Reset()
			now = p.look | look
		}
		same.WriteString(p.text)
	}
	return all.String() + m.look(same.String(), now)
}

// apart takes a line apart.
func (m markdown) apart(text string) []piece {
	s := spans{m: m, text: text}
	from := 0
	for at := 0; at < len(text); {
		found, n := s.special(at)
		if n == 0 {
			at++
			continue
		}
		s.plain(text[from:at])
		s.pieces = append(s.pieces, found...)
		at += n
		from = at
	}
	s.plain(text[from:])
	if m.paint.color {
		s.emphasize()
	}
	for i := range s.pieces {
		s.pieces[i].mark = 0
	}
	return s.pieces
}

func (s *spans) plain(text string) {
	if text != "" {
		s.pieces = append(s.pieces, piece{text: text})
	}
}

// special reads what begins there if it is more than a letter. 0: it is not.
func (s *spans) special(at int) ([]piece, int) {
	rest := s.text[at:]
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rest[1]) >= 0 {
			return []piece{{text: rest[1:2]}}, 2
		}
	case '`':
		return s.code(rest)
	case '*', '_', '~':
		return s.run(at)
	case '[':
		return s.link(rest, 0)
	case '!':
		if strings.HasPrefix(rest, "![") {
			return s.link(rest, 1)
		}
	case '<':
		return tag(rest)
	case '&':
		return entity(rest)
	case 'h':
		return s.address(at)
	}
	return nil, 0
}

// code reads a span of code. Without colors its marks stay.
func (s *spans) code(rest string) ([]piece, int) {
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
		if !s.m.paint.color {
			return []piece{{text: rest[:n] + text + rest[:n]}}, at
		}
		if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && !isBlank(text) {
			text = text[1 : len(text)-1]
		}
		return []piece{{text: text, look: coded}}, at
	}
	return []piece{{text: rest[:n]}}, n
}

// link reads a link or, behind a mark, an image. Its address is shown: nothing
// in a terminal tells where a click would lead.
func (s *spans) link(rest string, mark int) ([]piece, int) {
	end := closing(rest, mark)
	if end < 0 || !strings.HasPrefix(rest[end+1:], "(") {
		return nil, 0
	}
	address, n := destination(rest[end+1:])
	if n == 0 {
		return nil, 0
	}
	label := rest[mark+1 : end]
	pieces := s.m.apart(label)
	if mark > 0 {
		pieces = append([]piece{{text: "image: "}}, pieces...)
	}
	if address != "" && address != label {
		pieces = append(pieces, piece{text: " (" + address + ")"})
	}
	return pieces, end + 1 + n
}

// labelBound is how long the text of a link may be.
const labelBound = 1000

// closing gives where the bracket that opens there is closed; -1: nowhere.
func closing(text string, at int) int {
	if !strings.Contains(text, "](") {
		return -1
	}
	depth := 0
	for text = text[:min(len(text), at+labelBound)]; at < len(text); at++ {
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

// destination reads the address of a link and its title, in parentheses. 0: it
// is none.
func destination(text string) (address string, n int) {
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

// tag reads a tag, which is shown, or an address in angle brackets.
func tag(rest string) ([]piece, int) {
	end := strings.IndexAny(rest[1:], "<>\n") + 1
	if end < 2 || rest[end] != '>' {
		return nil, 0
	}
	body := rest[1:end]
	switch {
	case isAddress(body):
		return []piece{{text: body}}, end + 1
	case opensTag(body[0]):
		return []piece{{text: rest[:end+1]}}, end + 1
	}
	return nil, 0
}

// isAddress tells whether what stands in angle brackets is an address.
func isAddress(body string) bool {
	return !strings.ContainsAny(body, " <>") && isLetter(rune((body + " ")[0])) &&
		(strings.Contains(body, "://") || strings.HasPrefix(body, "mailto:") || strings.Contains(body, "@"))
}

// entity reads a letter that is written as its number or name.
func entity(rest string) ([]piece, int) {
	end := strings.IndexByte(rest[:min(len(rest), 34)], ';')
	if end < 2 {
		return nil, 0
	}
	text := html.UnescapeString(rest[:end+1])
	if text == rest[:end+1] || utf8.RuneCountInString(text) > 2 { // it has taken the beginning for a name
		return nil, 0
	}
	return []piece{{text: display.Sanitize(strings.NewReplacer("\n", " ", "\t", " ").Replace(text))}}, end + 1
}

// address reads an address that stands in the text, so that nothing in it is
// taken for a mark.
func (s *spans) address(at int) ([]piece, int) {
	rest := s.text[at:]
	if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
		return nil, 0
	}
	if end := strings.IndexAny(rest, " \n<>`\"|"); end >= 0 {
		rest = rest[:end]
	}
	rest = strings.TrimRight(rest, "?!.,:;*_~'()[]")
	return []piece{{text: rest}}, len(rest)
}

// run reads a run of marks of emphasis: whether it opens or closes some is told
// by what stands beside it.
func (s *spans) run(at int) ([]piece, int) {
	rest := s.text[at:]
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	before, _ := utf8.DecodeLastRuneInString(s.text[:at])
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if at == 0 {
		before = ' '
	}
	if n == len(rest) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isMark(after) || unicode.IsSpace(before) || isMark(before))
	right := !unicode.IsSpace(before) && (!isMark(before) || unicode.IsSpace(after) || isMark(after))
	p := piece{text: rest[:n], mark: rest[0], size: n, opens: left, closes: right}
	switch {
	case rest[0] == '_':
		p.opens, p.closes = left && (!right || isMark(before)), right && (!left || isMark(after))
	case rest[0] == '~' && n > 2:
		p.mark = 0
	}
	return []piece{p}, n
}

func isMark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
