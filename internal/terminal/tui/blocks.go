package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// The starts of blocks are parsed by hand: regular expressions would be compiled at every start of
// the program.

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// beginsBlock reports whether a line begins a block that ends a paragraph.
func beginsBlock(line string) bool {
	_, item := itemOf(line)
	return item || fenceOf(line) != "" || headingMark(line) != "" || isRule(line) || strings.HasPrefix(strings.TrimLeft(line, " "), ">")
}

// headingMark returns the mark of a heading with a blank behind it; "" if line is not a heading.
func headingMark(line string) string {
	body := strings.TrimLeft(line, " ")
	n := len(body) - len(strings.TrimLeft(body, "#"))
	if n < 1 || n > 6 || len(line)-len(body) > 3 || n < len(body) && body[n] != ' ' {
		return ""
	}
	return body[:n] + " "
}

// setextLevel is the level of the heading that a line underlines; 0 for none. A single dash counts
// as the start of a list that is still streaming.
func setextLevel(line string) int {
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

// isRule reports whether a line is a thematic break.
func isRule(line string) bool {
	body := strings.ReplaceAll(line, " ", "")
	return indentOf(line) < 4 && len(body) > 2 && strings.Contains("-*_", body[:1]) && strings.Trim(body, body[:1]) == ""
}

// isHTML reports whether a line is HTML, not text that starts with a tag.
func isHTML(line string) bool {
	body := strings.TrimSpace(line)
	if len(body) < 2 || body[0] != '<' || !opensTag(body[1]) {
		return false
	}
	return body[1] == '!' || body[len(body)-1] == '>' && !isAutolink(body[1:len(body)-1])
}

// opensTag reports whether a character behind a < makes it a tag.
func opensTag(c byte) bool { return isLetter(rune(c)) || c == '/' || c == '!' || c == '?' }

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// listItem is the start of a list item.
type listItem struct {
	indent int
	mark   string
	offset int // of its content
	text   string
}

// itemOf parses the start of a list item.
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
	case isBlank(it.text) || spaces > 4: // empty, or code
		spaces = min(1, spaces)
	}
	it.text = it.text[spaces:]
	it.offset = it.indent + len(it.mark) + max(1, spaces)
	return it, true
}

// marker is the text before the item's content.
func (it listItem) marker() string { return strings.Repeat(" ", it.indent) + it.mark + " " }

// interrupts reports whether the item ends a paragraph above it; a number at the end of a sentence does not.
func (it listItem) interrupts() bool {
	return !isBlank(it.text) && (len(it.mark) == 1 || it.mark == "1." || it.mark == "1)")
}

// content returns the lines of the item without its mark. Unindented text continues it, and so does
// code up to its fence.
func (it listItem) content(source []string) []string {
	inner := []string{it.text}
	fence := fenceAfter("", it.text)
	for i, line := range source[1:] {
		body := line[min(it.offset, indentOf(line)):]
		outside := indentOf(line) < it.offset && (isBlank(source[i]) || beginsBlock(line))
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

// stripListMarks replaces the marks of the items that begin in a line by blanks.
func stripListMarks(line string) string {
	lead := ""
	for range maxNesting {
		it, ok := itemOf(line)
		if !ok || isBlank(it.text) {
			break
		}
		lead, line = lead+strings.Repeat(" ", len(line)-len(it.text)), it.text
	}
	return lead + line
}

// expandTabs replaces tabs by blanks.
func expandTabs(line string) string {
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
