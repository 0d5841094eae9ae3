package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// markdown renders Markdown for a terminal: CommonMark with tables and strikethrough, close to its
// source, since nothing may be lost. HTML and the addresses of links are shown as they are.
type markdown struct{ paint palette }

// Bounds of nesting. Beyond them the marks stay and nothing is indented.
const (
	maxNesting   = 12
	minNestWidth = 5
)

// render renders a block as lines of less than width columns, without blank lines around them.
func (m markdown) render(text string, width int) []string {
	source := strings.Split(printable.Text(text), "\n")
	for i, line := range source {
		source[i] = expandTabs(line)
	}
	return m.blocks(source, max(1, width), 0)
}

// renderer renders the content of a document, a quotation or a list item.
type renderer struct {
	md        markdown
	width     int
	depth     int
	lines     []string
	paragraph []string // lines of the open paragraph
}

func (m markdown) blocks(source []string, width, depth int) []string {
	r := &renderer{md: m, width: width, depth: depth}
	for len(source) > 0 {
		source = source[r.block(source):]
	}
	r.endParagraph()
	return trimBlank(r.lines)
}

// block renders the block at the start of source, or adds a line to the paragraph. It returns the
// number of lines it took.
func (r *renderer) block(source []string) int {
	line := source[0]
	switch {
	case isBlank(line):
		r.endParagraph()
		r.lines = append(r.lines, "")
	case fenceOf(line) != "" && fenceAfter("", line) != "":
		return r.fenced(source)
	case len(r.paragraph) > 0 && setextLevel(line) > 0:
		r.heading(strings.Repeat("#", setextLevel(line))+" ", r.takeParagraph())
	case indentOf(line) > 3 && len(r.paragraph) == 0:
		return r.indented(source)
	case indentOf(line) > 3:
		r.paragraph = append(r.paragraph, strings.TrimLeft(line, " "))
	case len(r.paragraph) == 0 && isHTML(line):
		return r.html(source)
	case isTable(source):
		return r.table(source)
	default:
		return r.markedBlock(source)
	}
	return 1
}

// markedBlock renders a block with a mark of its own, or adds a line to the paragraph.
func (r *renderer) markedBlock(source []string) int {
	line := source[0]
	body := strings.TrimLeft(line, " ")
	it, item := itemOf(line)
	switch {
	case headingMark(line) != "":
		r.endParagraph()
		mark := headingMark(line)
		r.heading(mark, strings.TrimRight(body[min(len(body), len(mark)):], "# "))
	case isRule(line):
		r.endParagraph()
		r.lines = append(r.lines, r.md.paint.faint(strings.Repeat("-", min(8, max(1, r.width-1)))))
	case body[0] == '>' && r.nests("> "):
		return r.quote(source)
	case item && r.nests(it.marker()) && (len(r.paragraph) == 0 || it.interrupts()):
		return r.item(it, source)
	default:
		if body[0] == '>' || item && it.interrupts() {
			r.endParagraph()
		}
		r.paragraph = append(r.paragraph, body)
	}
	return 1
}

// nests reports whether there is room for content behind a mark.
func (r *renderer) nests(mark string) bool {
	return r.depth < maxNesting && r.width-len(mark) >= minNestWidth
}

// endParagraph renders the open paragraph.
func (r *renderer) endParagraph() {
	if len(r.paragraph) > 0 {
		r.lines = append(r.lines, wrapLines(r.md.inline(r.takeParagraph(), 0), r.width)...)
	}
}

// takeParagraph returns the text of the paragraph and closes it. Two blanks or a backslash at the
// end of a line break it.
func (r *renderer) takeParagraph() string {
	var text strings.Builder
	for i, line := range r.paragraph {
		body := strings.TrimRight(line, " ")
		broken := strings.HasSuffix(body, `\`) && !strings.HasSuffix(body, `\\`)
		switch {
		case i == len(r.paragraph)-1:
			text.WriteString(body)
		case broken || len(line)-len(body) > 1:
			text.WriteString(strings.TrimSuffix(body, `\`) + "\n")
		default:
			text.WriteString(body + " ")
		}
	}
	r.paragraph = nil
	return text.String()
}

func (r *renderer) heading(mark, text string) {
	r.lines = append(r.lines, wrapLines(r.md.styled(mark, bold)+r.md.inline(text, bold), r.width)...)
}

// fenced renders fenced code.
func (r *renderer) fenced(source []string) int {
	r.endParagraph()
	lead, fence := indentOf(source[0]), fenceAfter("", source[0])
	for i, line := range source[1:] {
		if fence = fenceAfter(fence, line); fence == "" {
			return i + 2
		}
		r.code(lead, line[min(lead, indentOf(line)):])
	}
	return len(source)
}

// indented renders indented code.
func (r *renderer) indented(source []string) int {
	n := 0
	for i, line := range source {
		if !isBlank(line) && indentOf(line) < 4 {
			break
		}
		if !isBlank(line) {
			n = i + 1
		}
	}
	for _, line := range source[:n] {
		r.code(0, line[min(4, indentOf(line)):])
	}
	return n
}

// code renders a line of code, wrapped since it would be useless if cut off.
func (r *renderer) code(lead int, line string) {
	before := strings.Repeat(" ", min(lead+2, r.width/4))
	for _, l := range wrapLines(line, r.width-len(before)) {
		r.lines = append(r.lines, strings.TrimRight(before+r.md.paint.code(l), " "))
	}
}

// html renders HTML as it is, line by line.
func (r *renderer) html(source []string) int {
	for i, line := range source {
		if isBlank(line) {
			return i
		}
		r.lines = append(r.lines, wrapLines(line, r.width)...)
	}
	return len(source)
}

// quote renders a quotation. Text below it without a mark continues it.
func (r *renderer) quote(source []string) int {
	r.endParagraph()
	var inner []string
	fence := ""
	for _, line := range source {
		body, marked := strings.CutPrefix(strings.TrimLeft(line, " "), ">")
		if !marked && (isBlank(line) || fence != "" || beginsBlock(line) || isBlank(inner[len(inner)-1])) {
			break
		}
		body = strings.TrimPrefix(body, " ")
		fence = fenceAfter(fence, body)
		inner = append(inner, body)
	}
	bar := r.md.paint.encode("│ ")
	r.nested(bar, bar, inner)
	return len(inner)
}

// item renders a list item.
func (r *renderer) item(it listItem, source []string) int {
	r.endParagraph()
	inner := it.content(source)
	mark := it.marker()
	if len(it.mark) == 1 {
		mark = strings.Replace(mark, it.mark, r.md.paint.encode("•"), 1)
	}
	r.nested(mark, strings.Repeat(" ", lipgloss.Width(mark)), inner)
	return len(inner)
}

// nested renders blocks with one prefix before their first line and one before the others.
func (r *renderer) nested(first, others string, source []string) {
	lines := r.md.blocks(source, r.width-lipgloss.Width(first), r.depth+1)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for _, line := range lines {
		r.lines = append(r.lines, strings.TrimRight(first+line, " "))
		first = others
	}
}

// wrapLines wraps a text into lines of less than width columns, at words if possible.
func wrapLines(text string, width int) []string { return wrapTo(text, width-1) }

// wrapTo wraps a text into lines of at most width columns.
func wrapTo(text string, width int) []string {
	width = max(2, width) // the widest character
	var lines []string
	for line := range strings.SplitSeq(lipgloss.Wrap(text, width, ""), "\n") {
		lines = append(lines, fitted(line, width)...)
	}
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "\ufe0f\u20e3") // their letter is at the end of the line before
	}
	return lines
}

// fitted breaks a line that is wider than it was wrapped to: lipgloss counts a letter with a variation selector, such
// as an emoji, as one column where it wraps.
func fitted(line string, width int) []string {
	tooWide := func(line string) bool { return lipgloss.Width(line) > width }
	pieces := []string{line}
	for limit := width; limit > 0 && slices.ContainsFunc(pieces, tooWide); limit-- {
		pieces = strings.Split(ansi.Hardwrap(line, limit, true), "\n")
	}
	return pieces
}

func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
