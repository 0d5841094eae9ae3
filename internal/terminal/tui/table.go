package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// columnLeast is how narrow the widest column of a table may become. In a
// narrower terminal its rows are told one by one.
const columnLeast = 10

// isTable tells whether a table begins there: a row, and below it the line
// that says how the columns are aligned. That may still be being said.
func isTable(source []string) bool {
	if len(source) < 2 || begins(source[0]) || !strings.Contains(source[0], "|") || !strings.Contains(source[1], "|") {
		return false
	}
	rule := cellsOf(source[1])
	for _, c := range rule {
		dashes := strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":")
		if strings.Trim(dashes, "-") != "" || dashes == "" && (len(source) > 2 || len(rule) < 2 && c == "") {
			return false
		}
	}
	columns := len(cellsOf(source[0]))
	return len(rule) == columns || len(source) == 2 && len(rule) < columns
}

// cellsOf gives the cells of a row.
func cellsOf(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	var cells []string
	from := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			cells, from = append(cells, line[from:i]), i+1
		}
	}
	if rest := line[from:]; rest != "" {
		cells = append(cells, rest)
	}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), `\|`, "|")
	}
	return cells
}

// grid is a table that is drawn.
type grid struct {
	rows   [][]string
	widths []int
	aligns []string // as written: :-, -: and :-:
}

// table draws a table: cell below cell, in narrower columns where it does not
// fit, and else row by row.
func (p *page) table(source []string) int {
	p.end()
	g := grid{aligns: cellsOf(source[1])}
	n := 0
	for ; n < len(source) && strings.Contains(source[n], "|") && (n < 2 || !begins(source[n])); n++ {
		if n != 1 {
			g.add(p.m, cellsOf(source[n]))
		}
	}
	natural := g.total()
	switch {
	case natural < p.width:
		p.grid(g, false)
	case g.shrink(p.width - 1):
		p.grid(g, true)
	default:
		p.told(g)
	}
	return n
}

// add takes in a row.
func (g *grid) add(m markdown, cells []string) {
	look := looks(0)
	if len(g.rows) == 0 {
		look = bold
	}
	for i, c := range cells {
		cells[i] = m.inline(c, look)
		if i == len(g.widths) {
			g.widths = append(g.widths, 0)
		}
		g.widths[i] = max(g.widths[i], lipgloss.Width(cells[i]))
	}
	g.rows = append(g.rows, cells)
}

func (g *grid) total() int {
	total := 3 * (len(g.widths) - 1)
	for _, w := range g.widths {
		total += w
	}
	return total
}

// shrink makes the widest columns narrower; false: there is no room for that.
func (g *grid) shrink(width int) bool {
	natural := slices.Clone(g.widths)
	for most := width; most >= columnLeast; most-- {
		for i, w := range natural {
			g.widths[i] = min(w, most)
		}
		if g.total() <= width {
			return true
		}
	}
	return false
}

// grid draws a table cell below cell. Where cells take several lines there is
// a line between the rows.
func (p *page) grid(g grid, lined bool) {
	rule := p.m.paint.faint(strings.Repeat("-", max(1, g.total())))
	for i, row := range g.rows {
		if i == 1 || i > 1 && lined {
			p.lines = append(p.lines, rule)
		}
		p.lines = append(p.lines, g.row(row)...)
	}
	if len(g.rows) == 1 {
		p.lines = append(p.lines, rule)
	}
}

// row gives the lines of a row.
func (g *grid) row(row []string) []string {
	var lines [][]string
	for j, c := range row {
		for k, text := range filled(c, g.widths[j]) {
			if k == len(lines) {
				lines = append(lines, make([]string, len(row)))
			}
			lines[k][j] = text
		}
	}
	var all []string
	for _, cells := range lines {
		for j, c := range cells {
			cells[j] = g.cell(j, c)
		}
		all = append(all, strings.TrimRight(strings.Join(cells, " | "), " "))
	}
	return all
}

// cell gives a line of a cell with the blanks that its column has.
func (g *grid) cell(column int, text string) string {
	room := max(0, g.widths[column]-lipgloss.Width(text))
	left, align := 0, ""
	if column < len(g.aligns) {
		align = g.aligns[column]
	}
	switch {
	case len(align) > 1 && align[0] == ':' && align[len(align)-1] == ':':
		left = room / 2
	case strings.HasSuffix(align, ":"):
		left = room
	}
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", room-left)
}

// told gives a table row by row, each cell behind the name of its column.
func (p *page) told(g grid) {
	for i, row := range g.rows {
		if i == 0 && len(g.rows) > 1 {
			continue
		}
		if i > 1 {
			p.lines = append(p.lines, p.m.paint.faint(strings.Repeat("-", min(8, max(1, p.width-1)))))
		}
		for j, c := range row {
			if i > 0 && j < len(g.rows[0]) && g.rows[0][j] != "" {
				c = g.rows[0][j] + ": " + c
			}
			p.lines = append(p.lines, fold(c, p.width)...)
		}
	}
}
