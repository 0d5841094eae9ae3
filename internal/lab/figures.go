package lab

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Figure is one of the figures of a result, as people see it.
type Figure struct {
	Name  string // as a column's head
	About string
	of    func(Result) string
	worth func(Result) float64 // how good it is, the more the better; nil: that cannot be said
	spare int                  // how soon it is left out where there is no room; 0: never
}

// most is the spare of the figure that is left out first.
const most = 5

// Of gives the figure of a result.
func (f Figure) Of(r Result) string { return f.of(r) }

// Figures lists the figures of a report.
func (r Report) Figures() []Figure {
	all := []Figure{
		{Name: "answered", About: "the share of all calls that were answered", of: func(r Result) string { return share(r.Answered, r.Calls) }, worth: func(r Result) float64 { return rate(r.Answered, r.Calls) }},
		{Name: "gave up", About: "calls that ended with an error, or waited on a day later", of: func(r Result) string { return count(r.GaveUp) }, worth: func(r Result) float64 { return -float64(r.GaveUp) }},
		{Name: "left", About: "calls whose caller had no patience left", of: func(r Result) string { return count(r.Left) }, worth: func(r Result) float64 { return -float64(r.Left) }},
		{Name: "median", About: "the median wait of the calls that met a fault and were answered", of: waited(func(r Result) time.Duration { return r.Median }), worth: quick(func(r Result) time.Duration { return r.Median }), spare: 3},
		{Name: "95 %", About: "the wait that 95 % of them did not exceed", of: waited(func(r Result) time.Duration { return r.P95 }), worth: quick(func(r Result) time.Duration { return r.P95 }), spare: most},
		{Name: "longest", About: "the longest of these waits", of: waited(func(r Result) time.Duration { return r.Longest }), worth: quick(func(r Result) time.Duration { return r.Longest }), spare: 4},
		{Name: "requests", About: "that reached the upstream", of: func(r Result) string { return count(r.Requests) }, worth: func(r Result) float64 { return -float64(r.Requests) }},
		{Name: "in vain", About: "requests that brought no answer", of: func(r Result) string { return count(r.Extra) }, worth: func(r Result) float64 { return -float64(r.Extra) }, spare: 2},
		{Name: "peak/s", About: "requests in the busiest second of the ten minutes after the recovery", of: func(r Result) string { return count(r.Peak) }, worth: func(r Result) float64 { return -float64(r.Peak) }, spare: 1},
		{Name: "last", About: "from the recovery to the last answer to a call that had waited for it", of: last, worth: lately},
	}
	if r.Scenario.Callers.Patience == 0 {
		all = append(all[:2], all[3:]...)
	}
	return all
}

// Width gives how wide the column of a figure is.
func (r Report) Width(f Figure) int {
	widest := len(f.Name)
	for _, one := range r.Results {
		widest = max(widest, len(f.Of(one)))
	}
	return widest
}

// Fit gives the figures whose columns fit into a width, each after two spaces.
// Those that say the least are left out first.
func (r Report) Fit(width int) []Figure {
	all := r.Figures()
	for spare := most; ; spare-- {
		need := 0
		for _, f := range all {
			need += 2 + r.Width(f)
		}
		if need <= width || spare == 0 {
			return all
		}
		all = slices.DeleteFunc(all, func(f Figure) bool { return f.spare == spare })
	}
}

// waited shows a wait, if any call has waited and been answered.
func waited(of func(Result) time.Duration) func(Result) string {
	return func(r Result) string {
		if r.Ridden == 0 {
			return "-"
		}
		return short(of(r))
	}
}

// quick is the worth of a wait.
func quick(of func(Result) time.Duration) func(Result) float64 {
	return func(r Result) float64 { return -of(r).Seconds() }
}

func last(r Result) string {
	if r.Last == 0 {
		return "-"
	}
	return short(r.Last)
}

func lately(r Result) float64 { return -r.Last.Seconds() }

func rate(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// share writes a share so that only all of them are 100 %.
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

// count writes a number in groups of three digits.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// short writes a time for a table: 4h01m, 12m30s, 46s, 4.2s.
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
