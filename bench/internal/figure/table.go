package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table writes figures for people.
func Table(w io.Writer, figures []Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\twhat\tours\tbaseline\tjudged (rounds)\tgate\tgoal\tverdict\t")
	for _, f := range figures {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", f.Row, f.Name,
			f.amount(f.Ours), f.amount(f.Base), f.judged(), f.Gate, f.Goal, f.Verdict())
		for _, s := range f.Peers {
			p := f.Of(s)
			fmt.Fprintf(t, "\t  %s\t%s\t\t%s\t\t\t\t\n", s.Name, p.amount(p.Ours), p.judged())
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, f := range figures {
		for _, note := range f.Notes {
			fmt.Fprintf(w, "* %s: %s\n", f.Row, note)
		}
	}
	return nil
}

func (f Figure) amount(rounds []float64) string {
	if len(rounds) == 0 {
		return "-"
	}
	if sound := slices.DeleteFunc(slices.Clone(rounds), math.IsNaN); len(sound) > 0 {
		rounds = sound
	}
	return strings.TrimSpace(number(Median(rounds)) + " " + f.Unit)
}

// judged writes the value with the smallest and the largest of its rounds.
func (f Figure) judged() string {
	rounds, sign := f.Rounds(), ""
	if f.PerBase {
		sign = "×"
	}
	if len(rounds) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s%s (%s–%s, %d)", number(f.Value()), sign,
		number(slices.Min(rounds)), number(slices.Max(rounds)), len(rounds))
}

// String writes the bound for people.
func (b Bound) String() string {
	if !b.set {
		return "-"
	}
	return "≤ " + number(b.most)
}

func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "?"
	case a >= 100 || x == math.Trunc(x):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// JSON writes figures for programs, one object per line. NaN is null.
func JSON(w io.Writer, figures []Figure) error {
	e := json.NewEncoder(w)
	for _, f := range figures {
		if err := e.Encode(f.plain()); err != nil {
			return err
		}
	}
	return nil
}

type plain struct {
	Row      string     `json:"row"`
	Name     string     `json:"name"`
	Unit     string     `json:"unit,omitempty"`
	Ours     []*float64 `json:"ours"`
	Baseline []*float64 `json:"baseline"`
	Ratio    bool       `json:"ratio"`
	Value    *float64   `json:"value"`
	Gate     *float64   `json:"gate"`
	Goal     *float64   `json:"goal"`
	Verdict  Verdict    `json:"verdict"`
	Notes    []string   `json:"notes,omitempty"`

	Peers map[string][]*float64 `json:"peers,omitempty"`
}

func (f Figure) plain() plain {
	peers := map[string][]*float64{}
	for _, s := range f.Peers {
		peers[s.Name] = finites(s.Rounds)
	}
	return plain{
		Row: f.Row, Name: f.Name, Unit: f.Unit, Ratio: f.PerBase, Verdict: f.Verdict(), Notes: f.Notes,
		Ours: finites(f.Ours), Baseline: finites(f.Base), Value: finite(f.Value()), Gate: f.Gate.plain(), Goal: f.Goal.plain(),
		Peers: peers,
	}
}

func (b Bound) plain() *float64 {
	if !b.set {
		return nil
	}
	return &b.most
}

func finites(values []float64) []*float64 {
	all := make([]*float64, len(values))
	for i, v := range values {
		all[i] = finite(v)
	}
	return all
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
