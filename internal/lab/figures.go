package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figure is one figure of a result, formatted for a table.
type Figure struct {
	Name  string // the column's head
	About string
	text  func(*Result) string
	score func(*Result) float64 // the higher the better
	drop  int                   // in a narrow table the highest is left out first; 0: never
}

// maxDrop is the drop of the figure that is omitted first.
const maxDrop = 6

// Of returns the figure of a result.
func (f Figure) Of(r *Result) string { return f.text(r) }

// Figures returns the figures of a report.
func (r *Report) Figures() []Figure {
	all := []Figure{
		{Name: "answered", About: "the share of all calls that were answered", text: func(r *Result) string { return share(r.Answered, r.Calls) }, score: func(r *Result) float64 { return rate(r.Answered, r.Calls) }},
		number("gave up", "calls that ended with an error, or without an answer after a day", 0, func(r *Result) int { return r.GaveUp }),
		number("left", "calls whose caller ran out of patience", 0, func(r *Result) int { return r.Left }),
		wait("median", "the median wait of the calls that met a fault and were answered", 3, func(r *Result) time.Duration { return r.Median }),
		wait("95 %", "the wait that 95 % of them did not exceed", 5, func(r *Result) time.Duration { return r.P95 }),
		wait("longest", "the longest of these waits", 4, func(r *Result) time.Duration { return r.Longest }),
		number("at once", "the most calls in progress at the same time, those that wait included", maxDrop, func(r *Result) int { return r.AtOnce }),
		number("requests", "that reached the upstream", 0, func(r *Result) int { return r.Requests }),
		number("in vain", "requests that brought no answer", 2, func(r *Result) int { return r.InVain }),
		number("peak/s", "requests in the busiest second of the ten minutes after the recovery", 1, func(r *Result) int { return r.Peak }),
		duration("last", "from the recovery to the last answer to a call that had waited for it", 0,
			func(r *Result) bool { return r.LastAnswer > 0 }, func(r *Result) time.Duration { return r.LastAnswer }),
	}
	if r.Scenario.Callers.Patience == 0 {
		all = append(all[:2], all[3:]...)
	}
	if r.Scenario.Others.Number > 0 {
		all = append(all, duration("others", "the wait that 95 % of the answered calls of the second group did not exceed, those without a fault included", 0,
			func(*Result) bool { return true }, func(r *Result) time.Duration { return r.OthersP95 }))
	}
	if r.Scenario.HasRate() {
		all = append(all, Figure{Name: "used", About: "the share that was used of the tokens that the limits per minute allow", text: func(r *Result) string { return percent(r.Used) }, score: func(r *Result) float64 { return r.Used }})
	}
	if r.Scenario.HasRate() && r.Scenario.Fleet.Number > 1 {
		all = append(all, Figure{Name: "fair", About: "how evenly the answers were divided among the gateways, as Jain's index: 1 is evenly", text: func(r *Result) string { return strconv.FormatFloat(r.Fairness, 'f', 3, 64) }, score: func(r *Result) float64 { return r.Fairness }})
	}
	return all
}

func percent(share float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(100*share, 'f', 1, 64), ".0") + " %"
}

// number returns the figure of a count; lower is better.
func number(name, about string, drop int, of func(*Result) int) Figure {
	return Figure{name, about, func(r *Result) string { return count(of(r)) }, func(r *Result) float64 { return -float64(of(r)) }, drop}
}

func wait(name, about string, drop int, of func(*Result) time.Duration) Figure {
	return duration(name, about, drop, func(r *Result) bool { return r.Recovered > 0 }, of)
}

// duration returns the figure of a time; shorter is better, "-" is unknown.
func duration(name, about string, drop int, known func(*Result) bool, of func(*Result) time.Duration) Figure {
	text := func(r *Result) string {
		if !known(r) {
			return "-"
		}
		return short(of(r))
	}
	return Figure{name, about, text, func(r *Result) float64 { return -of(r).Seconds() }, drop}
}

// Width returns the width of a figure's column.
func (r *Report) Width(f Figure) int {
	widest := len(f.Name)
	for _, one := range r.Results {
		widest = max(widest, len(f.Of(one)))
	}
	return widest
}

// Fit returns the figures whose columns fit into a width, each after two spaces. It omits the least important
// first.
func (r *Report) Fit(width int) []Figure {
	all := r.Figures()
	for drop := maxDrop; ; drop-- {
		need := 0
		for _, f := range all {
			need += 2 + r.Width(f)
		}
		if need <= width || drop == 0 {
			return all
		}
		all = slices.DeleteFunc(all, func(f Figure) bool { return f.drop == drop })
	}
}

func rate(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// share formats a percentage. Only a complete share is 100 %.
func share(part, whole int) string {
	switch percent := 100 * rate(part, whole); {
	case part == whole:
		return "100 %"
	case percent > 99.9:
		return "99.9 %"
	default:
		return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
	}
}

func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// short formats a time for a table: 4h01m, 12m30s, 46s, 4.2s.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
