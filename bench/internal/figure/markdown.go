package figure

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// What the columns of ours and of the baseline are called.
const (
	oursColumn = "ridethrough"
	baseColumn = "plain proxy"
)

// Markdown writes figures as the table of a page: what each proxy took, and how many times the baseline's that is.
// The columns are proxies by their names, each with another heading if "as" follows it; none: all that there are. It
// is an error if one has no figure.
func Markdown(w io.Writer, figures []Figure, columns ...string) error {
	if len(columns) == 0 {
		columns = proxies(figures)
	}
	head, cells := []string{""}, make([][]string, len(figures))
	for i, f := range figures {
		cells[i] = []string{f.Name}
	}
	for _, column := range columns {
		name, heading, renamed := strings.Cut(column, " as ")
		if !renamed {
			heading = name
		}
		head = append(head, heading)
		found := false
		for i, f := range figures {
			cell := f.cell(name)
			cells[i] = append(cells[i], cell)
			found = found || cell != none
		}
		if !found {
			return fmt.Errorf("the run has no figures of %q", name)
		}
	}
	for _, row := range append([][]string{head, slices.Repeat([]string{"---"}, len(head))}, cells...) {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// proxies are the columns of all that was measured.
func proxies(figures []Figure) []string {
	all := []string{oursColumn, baseColumn}
	for _, f := range figures {
		for _, s := range f.Peers {
			if !slices.Contains(all, s.Name) {
				all = append(all, s.Name)
			}
		}
	}
	return all
}

// none stands where a proxy has no figure.
const none = "–"

// cell is the median of a proxy, with its multiple of the baseline.
func (f Figure) cell(proxy string) string {
	switch proxy {
	case oursColumn:
	case baseColumn:
		f.Ours, f.PerBase = f.Base, false
	default:
		i := slices.IndexFunc(f.Peers, func(s Series) bool { return s.Name == proxy })
		if i < 0 {
			return none
		}
		f = f.Of(f.Peers[i])
	}
	if len(f.Ours) == 0 || math.IsNaN(Median(f.Ours)) && !f.PerBase {
		return none
	}
	text := f.amount(f.Ours)
	if v := f.Value(); f.PerBase && !math.IsNaN(v) {
		text += fmt.Sprintf(" (%s ×)", number(v))
	}
	return text
}
