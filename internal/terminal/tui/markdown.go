package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// markdown renders blocks of Markdown for a terminal: CommonMark with tables
// and what is struck out, near to how it was written, since what is not
// understood must not get lost. HTML is shown as it is, and so are the
// addresses of links.
type markdown struct{ paint paint }

// Bounds of what is drawn inside of something else. Beyond them the marks stay
// and nothing is indented.
const (
	nestBound = 12
	nestWidth = 5
)

// render gives a block as lines of less than width columns, without blank ones
// around them.
func (m markdown) render(text string, width int) []string {
	source := strings.Split(display.Sanitize(text), "\n")
	for i, line := range source {
		source[i] = untabbed(line)
	}
	return m.blocks(source, max(1, width), 0)
}

// page is what lines become: of a document, of a quotation or of an item.
type page struct {
	m     markdown
	width int
	depth int
	lines []string
	text  []string // lines of the paragraph that is open
}

func (m markdown) blocks(source []string, width, depth int) []string {
	p := &page{m: m, width: width, depth: depth}
	for len(source) > 0 {
		source = source[p.take(source):]
	}
	p.end()
	return trimBlank(p.lines)
}

// take draws the block that begins there, or takes in a line of a paragraph.
// It gives how many lines it has taken.
func (p *page) take(source []string) int {
	line := source[0]
	switch {
	case isBlank(line):
		p.end()
		p.lines = append(p.lines, "")
	case fenceOf(line) != "" && fenceAfter("", line) != "":
		return p.fenced(source)
	case len(p.text) > 0 && underline(line) > 0:
		p.heading(strings.Repeat("#", underline(line))+" ", p.joined())
	case indentOf(line) > 3 && len(p.text) == 0:
		return p.indented(source)
	case indentOf(line) > 3:
		p.text = append(p.text, strings.TrimLeft(line, " "))
	case len(p.text) == 0 && isHTML(line):
		return p.html(source)
	case isTable(source):
		return p.table(source)
	default:
		return p.marked(source)
	}
	return 1
}

// marked draws what begins with a mark of its own, or takes in a line of text.
func (p *page) marked(source []string) int {
	line := source[0]
	body := strings.TrimLeft(line, " ")
	it, item := itemOf(line)
	switch {
	case headingMark(line) != "":
		p.end()
		mark := headingMark(line)
		p.heading(mark, strings.TrimRight(body[min(len(body), len(mark)):], "# "))
	case isRule(line):
		p.end()
		p.lines = append(p.lines, p.m.paint.faint(strings.Repeat("-", min(8, max(1, p.width-1)))))
	case body[0] == '>' && p.nests("> "):
		return p.quote(source)
	case item && p.nests(it.before()) && (len(p.text) == 0 || it.interrupts()):
		return p.item(it, source)
	default:
		if body[0] == '>' || item && it.interrupts() {
			p.end()
		}
		p.text = append(p.text, body)
	}
	return 1
}

// nests tells whether there is room for something behind a mark.
func (p *page) nests(mark string) bool {
	return p.depth < nestBound && p.width-len(mark) >= nestWidth
}

// end ends the paragraph that is open.
func (p *page) end() {
	if len(p.text) > 0 {
		p.lines = append(p.lines, fold(p.m.inline(p.joined(), 0), p.width)...)
	}
}

// joined gives the text of the paragraph and closes it. Two blanks at the end
// of a line, or a backslash, keep it apart from the next.
func (p *page) joined() string {
	var text strings.Builder
	for i, line := range p.text {
		body := strings.TrimRight(line, " ")
		broken := strings.HasSuffix(body, `\`) && !strings.HasSuffix(body, `\\`)
		switch {
		case i == len(p.text)-1:
			text.WriteString(body)
		case broken || len(line)-len(body) > 1:
			text.WriteString(strings.TrimSuffix(body, `\`) + "\n")
		default:
			text.WriteString(body + " ")
		}
	}
	p.text = nil
	return text.String()
}

func (p *page) heading(mark, text string) {
	p.lines = append(p.lines, fold(p.m.look(mark, bold)+p.m.inline(text, bold), p.width)...)
}

// fenced draws code between fences.
func (p *page) fenced(source []string) int {
	p.end()
	lead, fence := indentOf(source[0]), fenceAfter("", source[0])
	for i, line := range source[1:] {
		if fence = fenceAfter(fence, line); fence == "" {
			return i + 2
		}
		p.code(lead, line[min(lead, indentOf(line)):])
	}
	return len(source)
}

// indented draws code that is told by its indentation.
func (p *page) indented(source []string) int {
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
		p.code(0, line[min(4, indentOf(line)):])
	}
	return n
}

// code draws a line of code, broken where it does not fit: cut off it would be
// of no use.
func (p *page) code(lead int, line string) {
	before := strings.Repeat(" ", min(lead+2, p.width/4))
	for _, l := range fold(line, p.width-len(before)) {
		p.lines = append(p.lines, strings.TrimRight(before+p.m.paint.teal(l), " "))
	}
}

// html gives HTML as it was said, line by line.
func (p *page) html(source []string) int {
	for i, line := range source {
		if isBlank(line) {
			return i
		}
		p.lines = append(p.lines, fold(line, p.width)...)
	}
	return len(source)
}

// quote draws a quotation. Text below it that has no mark goes on with it.
func (p *page) quote(source []string) int {
	p.end()
	var inner []string
	fence := ""
	for _, line := range source {
		body, marked := strings.CutPrefix(strings.TrimLeft(line, " "), ">")
		if !marked && (isBlank(line) || fence != "" || begins(line) || isBlank(inner[len(inner)-1])) {
			break
		}
		body = strings.TrimPrefix(body, " ")
		fence = fenceAfter(fence, body)
		inner = append(inner, body)
	}
	bar := p.m.paint.letters("│ ")
	p.within(bar, bar, inner)
	return len(inner)
}

// item draws an item of a list.
func (p *page) item(it listItem, source []string) int {
	p.end()
	inner := it.lines(source)
	mark := it.before()
	if len(it.mark) == 1 {
		mark = strings.Replace(mark, it.mark, p.m.paint.letters("•"), 1)
	}
	p.within(mark, strings.Repeat(" ", lipgloss.Width(mark)), inner)
	return len(inner)
}

// within draws blocks behind what stands before their first line and before
// the others.
func (p *page) within(first, others string, source []string) {
	lines := p.m.blocks(source, p.width-lipgloss.Width(first), p.depth+1)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for _, line := range lines {
		p.lines = append(p.lines, strings.TrimRight(first+line, " "))
		first = others
	}
}

// fold breaks a text into lines of less than so many columns, at words where
// it can.
func fold(text string, width int) []string { return filled(text, width-1) }

// filled breaks a text into lines of so many columns.
func filled(text string, width int) []string {
	width = max(2, width) // of one letter
	var lines []string
	for line := range strings.SplitSeq(lipgloss.Wrap(text, width, ""), "\n") {
		if lipgloss.Width(line) > width {
			lines = append(lines, strings.Split(ansi.Hardwrap(line, width, true), "\n")...)
			continue
		}
		lines = append(lines, line)
	}
	return lines
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
