package figure

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A page has its tables between comments, which name the rows and columns:
//
//	<!-- bench rows: cpu-1k callers-32/2
//	columns: ridethrough, plain proxy as ReverseProxy, nginx -->
//	…
//	<!-- end -->
//
// A row stands for all its figures, callers-32/2 for the second of them. What is between "bench about" and "end" is a
// sentence on the run.
var section = regexp.MustCompile(`(?s)(<!-- bench (.*?) -->\n).*?(\n?<!-- end -->)`)

// PageRows returns the rows that a page shows.
func PageRows(page string) (names []string, err error) {
	for _, s := range section.FindAllStringSubmatch(page, -1) {
		rows, _, err := sectionOf(s[2])
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if name, _, _ := strings.Cut(r, "/"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New(`the page shows no rows: it has no comment "bench rows: …"`)
	}
	return names, nil
}

// FillPage returns the page with the figures, and the description of the run.
func FillPage(page, about string, figures []Figure) (string, error) {
	var failed error
	filled := section.ReplaceAllStringFunc(page, func(text string) string {
		s := section.FindStringSubmatch(text)
		if s[2] == "about" {
			return s[1] + about + "\n<!-- end -->"
		}
		table, err := tableOf(s[2], figures)
		failed = errors.Join(failed, err)
		return s[1] + table + "<!-- end -->"
	})
	return filled, failed
}

func sectionOf(spec string) (rows, columns []string, err error) {
	if spec == "about" {
		return nil, nil, nil
	}
	names, heads, ok := strings.Cut(spec, "columns:")
	names, isRows := strings.CutPrefix(names, "rows:")
	if !ok || !isRows {
		return nil, nil, fmt.Errorf("%q is no section of a page: want \"rows: … columns: …\"", spec)
	}
	for head := range strings.SplitSeq(heads, ",") {
		columns = append(columns, strings.Join(strings.Fields(head), " "))
	}
	return strings.Fields(names), columns, nil
}

func tableOf(spec string, figures []Figure) (string, error) {
	rows, columns, err := sectionOf(spec)
	if err != nil {
		return "", err
	}
	var shown []Figure
	for _, r := range rows {
		of, err := figuresOf(r, figures)
		if err != nil {
			return "", err
		}
		shown = append(shown, of...)
	}
	var b strings.Builder
	err = Markdown(&b, shown, columns...)
	return b.String(), err
}

func figuresOf(name string, figures []Figure) (of []Figure, err error) {
	row, number, one := strings.Cut(name, "/")
	for _, f := range figures {
		if f.Row == row {
			of = append(of, f)
		}
	}
	n := 1
	if one {
		if n, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("row %q: %w", name, err)
		}
	}
	if n < 1 || n > len(of) {
		return nil, fmt.Errorf("row %q: the run has %d figures of %s", name, len(of), row)
	}
	if one {
		of = of[n-1 : n]
	}
	return of, nil
}

const (
	oursColumn = "ridethrough"
	baseColumn = "plain proxy"
)

// Markdown writes figures as the table of a page: what each proxy took, and its ratio to the baseline. The columns
// are proxies by name, each with another heading if "as" follows it; without columns, all proxies. It is an error
// if a column has no figure.
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

const none = "–"

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
