package tui_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// emulator is a terminal as far as this program needs one: a screen and its
// scrollback, which gets what is erased from the first row on. All characters are one column wide.
type emulator struct {
	cols, rows int
	gone       []string // what has scrolled out of the screen
	screen     [][]rune
	x, y       int
	last       rune
	saved      [2]int // the cursor
}

// emulate returns what a terminal shows of an output, the scrollback first, without
// trailing blanks.
func emulate(written string, cols, rows int) []string {
	e := &emulator{cols: cols, rows: rows}
	for range rows {
		e.screen = append(e.screen, e.blank())
	}
	e.write(written)
	lines := slices.Clone(e.gone)
	for _, row := range e.screen {
		lines = append(lines, text(row))
	}
	return lines
}

func text(row []rune) string { return strings.TrimRight(string(row), " ") }

func (e *emulator) blank() []rune { return []rune(strings.Repeat(" ", e.cols)) }

// sequence is a control sequence: CSI, OSC, or two bytes.
var sequence = regexp.MustCompile(`^\x1b(?:\[([?<>=]?)([0-9;:]*)[ $]*([@-~])|\][^\a\x1b]*(?:\a|\x1b\\)|([^\[\]]))`)

func (e *emulator) write(s string) {
	for s != "" {
		var m []string
		if s[0] == '\x1b' { // the expression is asked only where one begins, which makes most of a text ten times faster
			m = sequence.FindStringSubmatch(s)
		}
		if m != nil {
			switch {
			case m[1] == "" && m[3] != "":
				e.control(m[3], m[2])
			case m[4] == "M" && e.y > 0:
				e.y--
			case m[4] == "7":
				e.saved = [2]int{e.x, e.y}
			case m[4] == "8":
				e.x, e.y = e.saved[0], e.saved[1]
			}
			s = s[len(m[0]):]
			continue
		}
		r := []rune(s[:min(len(s), 4)])[0]
		e.put(r)
		s = s[len(string(r)):]
	}
}

func (e *emulator) put(r rune) {
	switch r {
	case '\r':
		e.x = 0
	case '\n':
		e.feed()
	case '\b':
		e.x = max(0, e.x-1)
	case '\t':
		e.x = min(e.cols-1, (e.x/8+1)*8)
	case '\a', '\x1b':
	default:
		if e.x == e.cols {
			e.x = 0
			e.feed()
		}
		e.screen[e.y][e.x], e.last = r, r
		e.x++
	}
}

func (e *emulator) feed() {
	if e.y < e.rows-1 {
		e.y++
		return
	}
	e.gone = append(e.gone, text(e.screen[0]))
	e.screen = append(e.screen[1:], e.blank())
}

// control carries out a control sequence.
func (e *emulator) control(what, with string) {
	first, second, _ := strings.Cut(with, ";")
	n, _ := strconv.Atoi(first)
	m, _ := strconv.Atoi(second)
	count := max(1, n)
	e.x = min(e.x, e.cols-1)
	row := e.screen[e.y]
	switch what {
	case "A":
		e.y = max(0, e.y-count)
	case "B":
		e.y = min(e.rows-1, e.y+count)
	case "C":
		e.x = min(e.cols-1, e.x+count)
	case "D":
		e.x = max(0, e.x-count)
	case "G":
		e.x = min(e.cols, count) - 1
	case "d":
		e.y = min(e.rows, count) - 1
	case "H":
		e.y, e.x = min(e.rows, count)-1, min(e.cols, max(1, m))-1
	case "K":
		from, to := map[int]int{0: e.x}[n], map[int]int{0: e.cols, 1: e.x + 1, 2: e.cols}[n]
		copy(row[from:to], e.blank())
	case "J":
		if e.x+e.y+n == 0 { // as tmux does
			for _, row := range e.screen {
				if line := text(row); line != "" {
					e.gone = append(e.gone, line)
				}
			}
		}
		copy(row[map[int]int{0: e.x}[n]:], e.blank())
		for y := map[int]int{0: e.y + 1}[n]; y < e.rows; y++ {
			e.screen[y] = e.blank()
		}
	case "X":
		copy(row[e.x:min(e.cols, e.x+count)], e.blank())
	case "P":
		copy(row[e.x:], append(slices.Clone(row[min(e.cols, e.x+count):]), e.blank()...))
	case "@":
		e.screen[e.y] = slices.Concat(row[:e.x], e.blank()[:min(count, e.cols)], row[e.x:])[:e.cols]
	case "b":
		for range count {
			e.put(e.last)
		}
	case "L":
		for range min(count, e.rows-e.y) {
			e.screen = slices.Insert(e.screen[:e.rows-1], e.y, e.blank())
		}
	case "M":
		for range min(count, e.rows-e.y) {
			e.screen = append(slices.Delete(e.screen, e.y, e.y+1), e.blank())
		}
	}
}
