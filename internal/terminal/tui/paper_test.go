package tui_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// paper is a terminal as far as this program needs one: what was written, on a
// screen of so many rows, and what has gone out of it above. Its letters are all
// of one column.
type paper struct {
	cols, rows int
	gone       []string // what has scrolled out of the screen
	screen     [][]rune
	x, y       int
	last       rune
}

// unroll gives all that a terminal of that size shows after what was written,
// the scrollback first, without what follows the last letter of a line.
func unroll(written string, cols, rows int) []string {
	p := &paper{cols: cols, rows: rows}
	for range rows {
		p.screen = append(p.screen, p.blank())
	}
	p.write(written)
	lines := slices.Clone(p.gone)
	for _, row := range p.screen {
		lines = append(lines, text(row))
	}
	return lines
}

func text(row []rune) string { return strings.TrimRight(string(row), " ") }

func (p *paper) blank() []rune { return []rune(strings.Repeat(" ", p.cols)) }

// sequence is what a terminal obeys: CSI, OSC, or two bytes.
var sequence = regexp.MustCompile(`^\x1b(?:\[([?<>=]?)([0-9;:]*)[ $]*([@-~])|\][^\a\x1b]*(?:\a|\x1b\\)|([^\[\]]))`)

func (p *paper) write(s string) {
	for s != "" {
		if m := sequence.FindStringSubmatch(s); m != nil {
			switch {
			case m[1] == "" && m[3] != "":
				p.obey(m[3], m[2])
			case m[4] == "M" && p.y > 0:
				p.y--
			}
			s = s[len(m[0]):]
			continue
		}
		r := []rune(s[:min(len(s), 4)])[0]
		p.put(r)
		s = s[len(string(r)):]
	}
}

func (p *paper) put(r rune) {
	switch r {
	case '\r':
		p.x = 0
	case '\n':
		p.feed()
	case '\b':
		p.x = max(0, p.x-1)
	case '\t':
		p.x = min(p.cols-1, (p.x/8+1)*8)
	case '\a', '\x1b':
	default:
		if p.x == p.cols {
			p.x = 0
			p.feed()
		}
		p.screen[p.y][p.x], p.last = r, r
		p.x++
	}
}

func (p *paper) feed() {
	if p.y < p.rows-1 {
		p.y++
		return
	}
	p.gone = append(p.gone, text(p.screen[0]))
	p.screen = append(p.screen[1:], p.blank())
}

// obey does what a control sequence asks for.
func (p *paper) obey(what, with string) {
	first, second, _ := strings.Cut(with, ";")
	n, _ := strconv.Atoi(first)
	m, _ := strconv.Atoi(second)
	count := max(1, n)
	p.x = min(p.x, p.cols-1)
	row := p.screen[p.y]
	switch what {
	case "A":
		p.y = max(0, p.y-count)
	case "B":
		p.y = min(p.rows-1, p.y+count)
	case "C":
		p.x = min(p.cols-1, p.x+count)
	case "D":
		p.x = max(0, p.x-count)
	case "G":
		p.x = min(p.cols, count) - 1
	case "d":
		p.y = min(p.rows, count) - 1
	case "H":
		p.y, p.x = min(p.rows, count)-1, min(p.cols, max(1, m))-1
	case "K":
		from, to := map[int]int{0: p.x}[n], map[int]int{0: p.cols, 1: p.x + 1, 2: p.cols}[n]
		copy(row[from:to], p.blank())
	case "J":
		copy(row[map[int]int{0: p.x}[n]:], p.blank())
		for y := map[int]int{0: p.y + 1}[n]; y < p.rows; y++ {
			p.screen[y] = p.blank()
		}
	case "X":
		copy(row[p.x:min(p.cols, p.x+count)], p.blank())
	case "P":
		copy(row[p.x:], append(slices.Clone(row[min(p.cols, p.x+count):]), p.blank()...))
	case "@":
		p.screen[p.y] = slices.Concat(row[:p.x], p.blank()[:min(count, p.cols)], row[p.x:])[:p.cols]
	case "b":
		for range count {
			p.put(p.last)
		}
	case "L":
		for range min(count, p.rows-p.y) {
			p.screen = slices.Insert(p.screen[:p.rows-1], p.y, p.blank())
		}
	case "M":
		for range min(count, p.rows-p.y) {
			p.screen = append(slices.Delete(p.screen, p.y, p.y+1), p.blank())
		}
	}
}
