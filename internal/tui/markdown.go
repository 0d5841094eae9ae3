package tui

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/notice"
)

// markdown renders blocks of Markdown for a terminal: near to how they were
// written, since what is not understood must not get lost. HTML is shown as it
// is, and so are the addresses of links.
type markdown struct{ paint paint }

// The forms of lines that are more than text.
var (
	headingLine = regexp.MustCompile(`^ {0,3}#{1,6} `)
	itemLine    = regexp.MustCompile(`^(\s*)([-*+]|\d{1,9}[.)]) +(?:(\[[ xX]\]) )?(.*)$`)
	quoteLine   = regexp.MustCompile(`^ {0,3}> ?(.*)$`)
	ruleLine    = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
	tableRule   = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)
)

// page is what a block becomes, line by line.
type page struct {
	m     markdown
	width int
	lines []string

	text   []string // lines of the paragraph that is open
	first  string   // what stands before its first line
	indent string   // and before the others
}

// render gives a block as lines of less than width columns, without blank ones
// around them.
func (m markdown) render(text string, width int) []string {
	p := &page{m: m, width: width}
	fence := ""
	source := strings.Split(notice.Visible(text), "\n")
	for i := 0; i < len(source); i++ {
		line := source[i]
		after := fenceAfter(fence, line)
		switch {
		case after != fence:
			p.end()
			fence = after
		case fence != "":
			p.code(line)
		case i+1 < len(source) && strings.Contains(line, "|") && tableRule.MatchString(source[i+1]) && strings.Contains(source[i+1], "|"):
			p.end()
			rows := tableRows(source[i:])
			p.table(rows)
			i += len(rows)
		default:
			p.line(line)
		}
	}
	p.end()
	return trimBlank(p.lines)
}

// line takes in a line that is no code.
func (p *page) line(line string) {
	item, quote := itemLine.FindStringSubmatch(line), quoteLine.FindStringSubmatch(line)
	switch {
	case strings.TrimSpace(line) == "":
		p.end()
		p.lines = append(p.lines, "")
	case headingLine.MatchString(line):
		p.end()
		for _, l := range wrapped(p.m.inline(strings.TrimSpace(line)), p.width) {
			p.lines = append(p.lines, p.m.paint.strong(l))
		}
	case ruleLine.MatchString(line):
		p.end()
		p.lines = append(p.lines, p.m.paint.faint(strings.Repeat("-", 8)))
	case item != nil:
		p.end()
		p.first = item[1] + p.m.mark(item[2]) + " "
		p.indent = strings.Repeat(" ", lipgloss.Width(p.first))
		p.text = append(p.text, strings.TrimSpace(item[3]+" "+item[4]))
	case quote != nil:
		if bar := p.m.paint.letters("│ "); p.first != bar {
			p.end()
			p.first, p.indent = bar, bar
		}
		p.text = append(p.text, quote[1])
	default:
		if len(p.text) == 0 {
			p.first = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
			p.indent = p.first
		}
		p.text = append(p.text, strings.TrimLeft(line, " \t"))
	}
}

// mark gives the mark of an item of a list.
func (m markdown) mark(written string) string {
	if strings.Contains("-*+", written) {
		if m.paint.ascii {
			return "*"
		}
		return "•"
	}
	return written
}

// end ends the paragraph that is open. Two blanks at the end of a line, or a
// backslash, keep it apart from the next.
func (p *page) end() {
	if len(p.text) == 0 {
		return
	}
	var text strings.Builder
	for i, line := range p.text {
		body := strings.TrimRight(line, " ")
		apart := len(line)-len(body) > 1 || strings.HasSuffix(body, `\`)
		text.WriteString(strings.TrimSuffix(body, `\`))
		switch {
		case i == len(p.text)-1:
		case apart:
			text.WriteByte('\n')
		default:
			text.WriteByte(' ')
		}
	}
	before := strings.ReplaceAll(p.first, "\t", "    ")
	for _, line := range wrapped(p.m.inline(text.String()), p.width-lipgloss.Width(before)) {
		p.lines = append(p.lines, before+line)
		before = strings.ReplaceAll(p.indent, "\t", "    ")
	}
	p.text, p.first, p.indent = nil, "", ""
}

// code takes in a line of code, which is broken where it does not fit: cut off
// it would be of no use.
func (p *page) code(line string) {
	lines := wrapped(line, p.width-2)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for _, l := range lines {
		p.lines = append(p.lines, strings.TrimRight("  "+p.m.paint.teal(l), " "))
	}
}

// tableRows gives the cells of the table that begins there, without the line
// below its head.
func tableRows(source []string) [][]string {
	var rows [][]string
	for i, line := range source {
		if i == 1 {
			continue
		}
		if !strings.Contains(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for j, c := range cells {
			cells[j] = strings.TrimSpace(c)
		}
		rows = append(rows, cells)
	}
	return rows
}

// table draws a table, cell below cell where it fits, and else row by row as
// it was written.
func (p *page) table(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for j, c := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], lipgloss.Width(p.m.inline(c)))
		}
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for i, row := range rows {
		cells := slices.Clone(row)
		for j, c := range cells {
			cells[j] = p.m.inline(c)
			if total < p.width {
				cells[j] += strings.Repeat(" ", widths[j]-lipgloss.Width(cells[j]))
			}
		}
		for _, line := range wrapped(strings.TrimRight(strings.Join(cells, " | "), " "), p.width) {
			if i == 0 {
				line = p.m.paint.strong(line)
			}
			p.lines = append(p.lines, line)
		}
		if i == 0 && total < p.width {
			p.lines = append(p.lines, p.m.paint.faint(strings.Repeat("-", total)))
		}
	}
}

// The forms of text in a line.
var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	boldSpan  = regexp.MustCompile(`\*\*(\S|\S[^\n]*?\S)\*\*`)
	slantSpan = regexp.MustCompile(`(^|[\s(])\*([^\s*]|[^\s*][^*\n]*?[^\s*])\*($|[\s).,;:!?])`)
	linkSpan  = regexp.MustCompile(`\[([^\[\]\n]+)\]\((\S+?)\)`)
)

// inline renders what stands in a line. Code is left alone.
func (m markdown) inline(text string) string {
	var b strings.Builder
	at := 0
	for _, span := range codeSpan.FindAllStringIndex(text, -1) {
		b.WriteString(m.words(text[at:span[0]]))
		if m.paint.color {
			b.WriteString(m.paint.teal(text[span[0]+1 : span[1]-1]))
		} else {
			b.WriteString(text[span[0]:span[1]])
		}
		at = span[1]
	}
	b.WriteString(m.words(text[at:]))
	return b.String()
}

// words renders what is no code. Without colors the marks stay.
func (m markdown) words(text string) string {
	text = notice.Visible(html.UnescapeString(text))
	text = linkSpan.ReplaceAllString(text, "$1 ($2)")
	if !m.paint.color {
		return text
	}
	text = boldSpan.ReplaceAllStringFunc(text, func(s string) string { return m.paint.strong(s[2 : len(s)-2]) })
	return slantSpan.ReplaceAllStringFunc(text, func(s string) string {
		parts := slantSpan.FindStringSubmatch(s)
		return parts[1] + m.paint.slanted(parts[2]) + parts[3]
	})
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
