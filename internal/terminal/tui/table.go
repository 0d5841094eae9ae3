package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// minColumn is the least width of the widest column. In a narrower terminal a table is shown cell by cell.
const minColumn = 10

// completeRule completes the last line of a text if it begins to align the columns of a table and is still
// streaming.
func completeRule(text string) string {
	head, rule, below := cutLast(text)
	_, header, _ := cutLast(head)
	if !below || !strings.Contains(rule, "|") || strings.Trim(rule, "|:- ") != "" {
		return text
	}
	have := strings.Split(strings.Trim(rule, "| "), "|")
	want := strings.Count(strings.ReplaceAll(strings.Trim(header, "| "), `\|`, ""), "|") + 1
	if !strings.Contains(header, "|") || len(have) > want {
		return text
	}
	for i := range want {
		switch {
		case i == len(have):
			have = append(have, "-")
		case !strings.Contains(have[i], "-"):
			have[i] += "-"
		}
	}
	return head + "\n" + rule[:indentOf(rule)] + "|" + strings.Join(have, "|") + "|"
}

func cutLast(text string) (head, last string, found bool) {
	i := strings.LastIndexByte(text, '\n')
	return text[:max(0, i)], text[i+1:], i >= 0
}

type table struct {
	rows   [][]string
	widths []int
	aligns []extast.Alignment
}

// table draws a table: as a grid, in narrower columns if necessary, or else cell by cell.
func (d document) table(n *extast.Table, width int) []string {
	t := table{widths: make([]int, len(n.Alignments)), aligns: n.Alignments}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		t.rows = append(t.rows, d.cells(row))
	}
	for _, row := range t.rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], lipgloss.Width(cell))
		}
	}
	switch {
	case t.total() < width:
		return d.grid(t, false)
	case t.shrink(width - 1):
		return d.grid(t, true)
	}
	return d.list(t, width)
}

// cells renders the cells of a row. Excess cells go into the last one.
func (d document) cells(row ast.Node) (cells []string) {
	base := style(0)
	if row.Kind() == extast.KindTableHeader {
		base = bold
	}
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		cells = append(cells, d.inline(c, base))
	}
	if last := row.LastChild().Lines(); last.Len() > 0 {
		rest, _, _ := strings.Cut(string(d.source[last.At(0).Stop:]), "\n")
		if rest = strings.Trim(rest, "| "); rest != "" {
			cells[len(cells)-1] += " | " + rest
		}
	}
	return cells
}

func (t *table) total() int {
	total := 3 * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	return total
}

// shrink narrows the widest columns; false if they do not fit.
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

// grid draws a table as a grid. If cells have several lines, a rule separates the rows.
func (d document) grid(t table, lined bool) (lines []string) {
	var dashes []string
	for _, w := range t.widths {
		dashes = append(dashes, strings.Repeat("─", w))
	}
	rule, bar := d.paint.faint(strings.Join(dashes, "─┼─")), d.paint.faint(" │ ")
	for i, row := range t.rows {
		if i > 1 && lined {
			lines = append(lines, rule)
		}
		lines = append(lines, t.row(row, bar)...)
		if i == 0 {
			lines = append(lines, rule)
		}
	}
	return lines
}

func (t *table) row(row []string, bar string) []string {
	cells, height := make([]string, len(row)), 1
	for j, c := range row {
		align := map[extast.Alignment]lipgloss.Position{extast.AlignCenter: lipgloss.Center, extast.AlignRight: lipgloss.Right}[t.aligns[j]]
		cells[j] = lipgloss.NewStyle().Width(t.widths[j]).Align(align).Render(strings.Join(wrapTo(c, t.widths[j]), "\n"))
		height = max(height, lipgloss.Height(cells[j]))
	}
	var parts []string
	for _, cell := range cells {
		parts = append(parts, strings.TrimSuffix(strings.Repeat(bar+"\n", height), "\n"), cell)
	}
	lines := strings.Split(lipgloss.JoinHorizontal(lipgloss.Top, parts[1:]...), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

func (d document) list(t table, width int) (lines []string) {
	for i, row := range t.rows {
		if i == 0 && len(t.rows) > 1 {
			continue
		}
		if i > 1 {
			lines = append(lines, d.rule(min(8, max(1, width-1))))
		}
		for j, c := range row {
			if i > 0 && t.rows[0][j] != "" {
				c = t.rows[0][j] + ": " + c
			}
			lines = append(lines, wrapLines(c, width)...)
		}
	}
	return lines
}
