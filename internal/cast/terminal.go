package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// style is how a cell looks: a class of the picture, "" for plain text.
type style string

// styles are those that the program uses, by the number of SGR.
var styles = map[string]style{"": "", "0": "", "2": "faint", "31": "red", "32": "green", "33": "amber"}

// cell is a place of the terminal.
type cell struct {
	r     rune
	style style
}

// row is a line of the terminal, without blank cells at its end.
type row []cell

// text returns the words of a row.
func (r row) text() string {
	var b strings.Builder
	for _, c := range r {
		b.WriteRune(c.r)
	}
	return b.String()
}

// terminal is a screen with what the program has written. It knows what package screen writes, and refuses the
// rest, so that a picture is never a guess.
type terminal struct {
	width, height int
	rows          []row
	x, y          int
	style         style
}

func newTerminal(width, height int) *terminal {
	return &terminal{width: width, height: height, rows: make([]row, height)}
}

// control is a sequence that moves, erases or paints.
var control = regexp.MustCompile(`^\x1b\[([0-9]*)([A-Za-z])`)

// write does what a terminal does with a text.
func (t *terminal) write(text string) error {
	for text != "" {
		if m := control.FindStringSubmatch(text); m != nil {
			if err := t.control(m[1], m[2]); err != nil {
				return err
			}
			text = text[len(m[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if err := t.put(r); err != nil {
			return err
		}
		text = text[size:]
	}
	return nil
}

func (t *terminal) control(number, letter string) error {
	paint, known := styles[number]
	switch {
	case letter == "m" && known:
		t.style = paint
	case letter == "K" && number == "2":
		t.rows[t.y] = nil
	case letter == "A" && (number == "" || number == "1"):
		t.y = max(0, t.y-1)
	default:
		return fmt.Errorf("unknown control sequence ESC[%s%s", number, letter)
	}
	return nil
}

func (t *terminal) put(r rune) error {
	switch {
	case r == '\r':
		t.x = 0
	case r == '\n' && t.y+1 == t.height:
		return fmt.Errorf("the program writes more than %d lines", t.height)
	case r == '\n':
		t.y++
	case r < ' ' || r == 0x7f:
		return fmt.Errorf("unknown control character %U", r)
	case t.x == t.width: // a longer line goes on in the next
		t.x = 0
		if err := t.put('\n'); err != nil {
			return err
		}
		return t.put(r)
	default:
		for len(t.rows[t.y]) <= t.x {
			t.rows[t.y] = append(t.rows[t.y], cell{r: ' '})
		}
		t.rows[t.y][t.x] = cell{r, t.style}
		t.x++
	}
	return nil
}

// shown returns a copy of the rows.
func (t *terminal) shown() []row {
	rows := make([]row, len(t.rows))
	for i, r := range t.rows {
		rows[i] = slices.Clone(r)
	}
	return rows
}

// wholeRunes returns the length of the text without a rune that is cut at its end.
func wholeRunes(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}
