package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// minColumn is the least width of the widest column. In a narrower terminal a table is shown cell by cell.
const minColumn = 10

// isTable reports whether a table starts there: a row, and below it the line that aligns the
// columns, which may still be streaming.
func isTable(source []string) bool {
	if len(source) < 2 || beginsBlock(source[0]) || !strings.Contains(source[0], "|") || !strings.Contains(source[1], "|") {
		return false
	}
	rule := splitCells(source[1])
	for _, c := range rule {
		dashes := strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":")
		if strings.Trim(dashes, "-") != "" || dashes == "" && (len(source) > 2 || len(rule) < 2 && c == "") {
			return false
		}
	}
	columns := len(splitCells(source[0]))
	return len(rule) == columns || len(source) == 2 && len(rule) < columns
}

// splitCells returns the cells of a row.
func splitCells(line string) []string {
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

// table is a table to draw.
type table struct {
	rows   [][]string
	widths []int
	aligns []string // as written: :-, -: and :-:
}

// table draws a table: as a grid, in narrower columns if necessary, or else cell by cell.
func (r *renderer) table(source []string) int {
	r.endParagraph()
	t := table{aligns: splitCells(source[1])}
	n := 0
	for ; n < len(source) && strings.Contains(source[n], "|") && (n < 2 || !beginsBlock(source[n])); n++ {
		if n != 1 {
			t.add(r.md, splitCells(source[n]))
		}
	}
	natural := t.total()
	switch {
	case natural < r.width:
		r.tableGrid(t, false)
	case t.shrink(r.width - 1):
		r.tableGrid(t, true)
	default:
		r.tableRows(t)
	}
	return n
}

// add appends a row.
func (t *table) add(m markdown, cells []string) {
	base := style(0)
	if len(t.rows) == 0 {
		base = bold
	}
	for i, c := range cells {
		cells[i] = m.inline(c, base)
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], lipgloss.Width(cells[i]))
	}
	t.rows = append(t.rows, cells)
}

func (t *table) total() int {
	total := 3 * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	return total
}

// shrink narrows the widest columns; false if there is no room for that.
func (t *table) shrink(width int) bool {
	natural := slices.Clone(t.widths)
	for most := width; most >= minColumn; most-- {
		for i, w := range natural {
			t.widths[i] = min(w, most)
		}
		if t.total() <= width {
			return true
		}
	}
	return false
}

// tableGrid draws a table as a grid. If cells take several lines, rows are separated by a line.
func (r *renderer) tableGrid(t table, lined bool) {
	rule := r.md.paint.faint(strings.Repeat("-", max(1, t.total())))
	for i, row := range t.rows {
		if i == 1 || i > 1 && lined {
			r.lines = append(r.lines, rule)
		}
		r.lines = append(r.lines, t.row(row)...)
	}
	if len(t.rows) == 1 {
		r.lines = append(r.lines, rule)
	}
}

// row returns the lines of a row.
func (t *table) row(row []string) []string {
	var lines [][]string
	for j, c := range row {
		for k, text := range wrapTo(c, t.widths[j]) {
			if k == len(lines) {
				lines = append(lines, make([]string, len(row)))
			}
			lines[k][j] = text
		}
	}
	var all []string
	for _, cells := range lines {
		for j, c := range cells {
			cells[j] = t.cell(j, c)
		}
		all = append(all, strings.TrimRight(strings.Join(cells, " | "), " "))
	}
	return all
}

// cell returns a line of a cell, aligned in its column.
func (t *table) cell(column int, text string) string {
	room := max(0, t.widths[column]-lipgloss.Width(text))
	left, align := 0, ""
	if column < len(t.aligns) {
		align = t.aligns[column]
	}
	switch {
	case len(align) > 1 && align[0] == ':' && align[len(align)-1] == ':':
		left = room / 2
	case strings.HasSuffix(align, ":"):
		left = room
	}
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", room-left)
}

// tableRows draws a table cell by cell, each behind the name of its column.
func (r *renderer) tableRows(t table) {
	for i, row := range t.rows {
		if i == 0 && len(t.rows) > 1 {
			continue
		}
		if i > 1 {
			r.lines = append(r.lines, r.md.paint.faint(strings.Repeat("-", min(8, max(1, r.width-1)))))
		}
		for j, c := range row {
			if i > 0 && j < len(t.rows[0]) && t.rows[0][j] != "" {
				c = t.rows[0][j] + ": " + c
			}
			r.lines = append(r.lines, wrapLines(c, r.width)...)
		}
	}
}
