package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// What begins a block is told by hand: regular expressions would be compiled
// as every command of the program starts.

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// begins tells whether a line begins a block that ends a paragraph.
func begins(line string) bool {
	_, item := itemOf(line)
	return item || fenceOf(line) != "" || headingMark(line) != "" || isRule(line) || strings.HasPrefix(strings.TrimLeft(line, " "), ">")
}

// headingMark gives what makes a line a heading, with the blank behind it; "":
// it is none.
func headingMark(line string) string {
	body := strings.TrimLeft(line, " ")
	n := len(body) - len(strings.TrimLeft(body, "#"))
	if n < 1 || n > 6 || len(line)-len(body) > 3 || n < len(body) && body[n] != ' ' {
		return ""
	}
	return body[:n] + " "
}

// underline gives the level of the heading that a line makes of the text above
// it; 0: none. A single dash is taken for the beginning of a list that is still
// being said.
func underline(line string) int {
	body := strings.TrimSpace(line)
	switch {
	case indentOf(line) > 3 || len(body) < 2:
		return 0
	case strings.Trim(body, "=") == "":
		return 1
	case strings.Trim(body, "-") == "":
		return 2
	}
	return 0
}

// isRule tells whether a line is a line.
func isRule(line string) bool {
	body := strings.ReplaceAll(line, " ", "")
	return indentOf(line) < 4 && len(body) > 2 && strings.Contains("-*_", body[:1]) && strings.Trim(body, body[:1]) == ""
}

// isHTML tells whether a line is HTML and no text that begins with a tag.
func isHTML(line string) bool {
	body := strings.TrimSpace(line)
	if len(body) < 2 || body[0] != '<' || !opensTag(body[1]) {
		return false
	}
	return body[1] == '!' || body[len(body)-1] == '>' && !isAddress(body[1:len(body)-1])
}

// opensTag tells whether a letter behind a < makes it a tag.
func opensTag(c byte) bool { return isLetter(rune(c)) || c == '/' || c == '!' || c == '?' }

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// listItem is the beginning of an item of a list.
type listItem struct {
	indent int
	mark   string
	offset int // of what it contains
	text   string
}

// itemOf reads the beginning of an item.
func itemOf(line string) (listItem, bool) {
	body := strings.TrimLeft(line, " ")
	it := listItem{indent: len(line) - len(body)}
	digits := len(body) - len(strings.TrimLeft(body, "0123456789"))
	if body == "" || it.indent > 3 || isRule(line) || digits > 9 || digits == len(body) {
		return it, false
	}
	if !strings.Contains("-*+", body[:1]) && (digits == 0 || !strings.Contains(".)", body[digits:digits+1])) {
		return it, false
	}
	it.mark, it.text = body[:digits+1], body[digits+1:]
	spaces := indentOf(it.text)
	switch {
	case it.text != "" && spaces == 0:
		return it, false
	case isBlank(it.text) || spaces > 4: // nothing, or code
		spaces = min(1, spaces)
	}
	it.text = it.text[spaces:]
	it.offset = it.indent + len(it.mark) + max(1, spaces)
	return it, true
}

// before is what stands before what the item contains.
func (it listItem) before() string { return strings.Repeat(" ", it.indent) + it.mark + " " }

// interrupts tells whether the item ends a paragraph above it: a number that a
// sentence ends with does not.
func (it listItem) interrupts() bool {
	return !isBlank(it.text) && (len(it.mark) == 1 || it.mark == "1." || it.mark == "1)")
}

// lines gives the lines of the item that begins there, without its mark. Text
// that goes on at the margin belongs to it, and so does code up to its fence.
func (it listItem) lines(source []string) []string {
	inner := []string{it.text}
	fence := fenceAfter("", it.text)
	for i, line := range source[1:] {
		body := line[min(it.offset, indentOf(line)):]
		outside := indentOf(line) < it.offset && (isBlank(source[i]) || begins(line))
		if !isBlank(line) && fence == "" && outside {
			break
		}
		fence = fenceAfter(fence, body)
		inner = append(inner, body)
	}
	for len(inner) > 1 && isBlank(inner[len(inner)-1]) {
		inner = inner[:len(inner)-1]
	}
	return inner
}

// unlisted gives a line with blanks instead of the marks of the items that
// begin in it.
func unlisted(line string) string {
	lead := ""
	for range nestBound {
		it, ok := itemOf(line)
		if !ok || isBlank(it.text) {
			break
		}
		lead, line = lead+strings.Repeat(" ", len(line)-len(it.text)), it.text
	}
	return lead + line
}

// untabbed gives a line with blanks for its tabs.
func untabbed(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for i, piece := range strings.Split(line, "\t") {
		if i > 0 {
			n := 4 - column%4
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		b.WriteString(piece)
		column += lipgloss.Width(piece)
	}
	return b.String()
}
