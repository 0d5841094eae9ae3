package lab

import (
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// levels are the characters of a one-line chart, the lowest first, by whether they are ASCII.
var levels = map[bool][]rune{
	false: []rune(" ▁▂▃▄▅▆▇█"),
	true:  []rune(" .,:-=+*#"),
}

// Spark draws a series as a sparkline of at most width columns, scaled to its
// maximum. Values above zero are always visible.
func Spark(series []int, width int, ascii bool) string {
	fit := squeeze(series, width)
	highest := slices.Max(append([]int{0}, fit...))
	chars := levels[ascii]
	var b strings.Builder
	for _, n := range fit {
		level := 0
		if n > 0 {
			level = max(1, (n*(len(chars)-1)+highest/2)/highest)
		}
		b.WriteRune(chars[level])
	}
	return b.String()
}

// squeeze shortens a series to at most width values. It keeps the maximum of merged values, so that no peak is
// lost.
func squeeze(series []int, width int) []int {
	if len(series) <= width {
		return series
	}
	fit := make([]int, width)
	for i, n := range series {
		k := i * width / len(series)
		fit[k] = max(fit[k], n)
	}
	return fit
}

func (r *Report) minutes() (n int) {
	for _, one := range r.Results {
		n = max(n, len(one.PerMinute), len(one.Answers))
	}
	return n
}

// Series returns the requests per minute of result i. All results have series of the same length.
func (r *Report) Series(i int) []int { return padded(r.Results[i].PerMinute, r.minutes()) }

func padded(series []int, n int) []int {
	return append(append(make([]int, 0, n), series...), make([]int, n-len(series))...)
}

// OutageLine draws the outages in one line of at most width columns: full blocks
// while the upstream refuses every call, light ones while it is degraded.
func (r *Report) OutageLine(width int, ascii bool) string {
	full, light := '█', '░'
	if ascii {
		full, light = '#', '-'
	}
	n := r.minutes()
	width = min(width, n)
	line := []rune(strings.Repeat(" ", width))
	for minute := range n {
		k := minute * width / n
		switch stateAt(r.Scenario, minute) {
		case down:
			line[k] = full
		case degraded:
			if line[k] != full {
				line[k] = light
			}
		}
	}
	return string(line)
}

type state int

const (
	healthy state = iota
	degraded
	down // refuses every call
)

func stateAt(s config.Scenario, minute int) (worst state) {
	at := time.Duration(minute) * time.Minute
	for _, o := range s.Outages {
		switch since := at - o.From; {
		case since <= -time.Minute || since >= o.For:
		case o.Kind == config.Total, o.Kind == config.Flapping && max(since, 0)%(o.Down+o.Up) < o.Down:
			return down
		default:
			worst = degraded
		}
	}
	return worst
}
