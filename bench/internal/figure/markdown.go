package figure

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Markdown writes figures as the table of a page: what each proxy took, and how many times the baseline's that is.
func Markdown(w io.Writer, figures []Figure) error {
	var peers []string
	for _, f := range figures {
		for _, s := range f.Peers {
			if !slices.Contains(peers, s.Name) {
				peers = append(peers, s.Name)
			}
		}
	}
	head := append([]string{"", "ridethrough", "plain proxy"}, peers...)
	rows := [][]string{head, slices.Repeat([]string{"---"}, len(head))}
	for _, f := range figures {
		row := []string{f.Name, f.cell(), f.amount(f.Base)}
		for _, name := range peers {
			i := slices.IndexFunc(f.Peers, func(s Series) bool { return s.Name == name })
			if i < 0 {
				row = append(row, "–")
				continue
			}
			row = append(row, f.Of(f.Peers[i]).cell())
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// cell is the median with its multiple of the baseline.
func (f Figure) cell() string {
	text := f.amount(f.Ours)
	if v := f.Value(); f.PerBase && !math.IsNaN(v) {
		text += fmt.Sprintf(" (%s ×)", number(v))
	}
	return text
}
