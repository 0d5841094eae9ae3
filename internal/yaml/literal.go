package yaml

import "strings"

// literal reads a text of lines behind | or >, inside of a collection that is indented so far.
func (p *parser) literal(parent int) *Node {
	n, style := p.node(Text), p.char(0)
	p.at++
	keep, indent := p.indicators(n, parent)
	p.at += lineLength(p.text[p.at:])
	var lines []string
	for !p.done() {
		here := *p
		p.newLine()
		line := p.text[p.at : p.at+lineLength(p.text[p.at:])]
		spaces, empty := p.spaces(), strings.Trim(line, " ") == ""
		if indent < 0 && !empty {
			indent = max(spaces, parent+1)
		}
		if !empty && (spaces < indent || p.marker()) {
			*p = here
			break
		}
		p.at += len(line)
		if p.done() && line == "" {
			break // behind the last end of a line
		}
		if indent < 0 {
			line = ""
		}
		lines = append(lines, line[min(max(indent, 0), len(line)):])
	}
	n.Text = joined(lines, style, keep)
	if p.done() && !strings.HasSuffix(p.text, "\n") {
		n.Text = strings.TrimSuffix(n.Text, "\n") // the last line has no end
	}
	return n
}

// indicators reads what is behind | or >: a sign that says whether ends of lines at the end are kept, and how far the
// lines are indented; -1: as the first one.
func (p *parser) indicators(n *Node, parent int) (keep byte, indent int) {
	indent = -1
	for ; !p.blank(0); p.at++ {
		switch c := p.char(0); {
		case (c == '+' || c == '-') && keep == 0:
			keep = c
		case '1' <= c && c <= '9' && indent < 0:
			indent = max(parent, 0) + int(c-'0')
		default:
			n.fail("found '%c' behind %c; the text begins on the next line", c, p.text[p.at-1])
		}
	}
	if p.skipSpace(); !p.done() && p.char(0) != '\n' && p.char(0) != '#' {
		p.fail("value is not allowed in this context; the text begins on the next line")
	}
	return keep, indent
}

// joined returns the text of lines.
func joined(lines []string, style, keep byte) string {
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	var b strings.Builder
	breaks, before := 0, true // since the last text, and whether that was indented
	for i, line := range lines[:end] {
		indented := line != "" && (line[0] == ' ' || line[0] == '\t')
		switch {
		case line == "":
			breaks++
			continue
		case breaks == i: // the first text
			b.WriteString(strings.Repeat("\n", breaks))
		case style == '>' && !before && !indented:
			b.WriteString(folded(breaks + 1))
		default:
			b.WriteString(strings.Repeat("\n", breaks+1))
		}
		b.WriteString(line)
		breaks, before = 0, indented
	}
	switch {
	case keep == '+':
		b.WriteString(strings.Repeat("\n", len(lines)-end+min(end, 1)))
	case keep == 0 && end > 0:
		b.WriteByte('\n')
	}
	return b.String()
}
