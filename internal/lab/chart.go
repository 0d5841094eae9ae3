package lab

import (
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// levels are the letters of a chart of one line, the lowest first: as they
// should be, and where there are no letters but ASCII's.
var levels = map[bool][]rune{
	false: []rune(" ▁▂▃▄▅▆▇█"),
	true:  []rune(" .,:-=+*#"),
}

// Spark draws a series in one line of that width, as high as its greatest value
// allows. What is above zero is seen.
func Spark(series []int, width int, ascii bool) string {
	highest, fit := 0, squeeze(series, width)
	for _, n := range fit {
		highest = max(highest, n)
	}
	letters := levels[ascii]
	var b strings.Builder
	for _, n := range fit {
		level := 0
		if n > 0 {
			level = max(1, (n*(len(letters)-1)+highest/2)/highest)
		}
		b.WriteRune(letters[level])
	}
	return b.String()
}

// squeeze makes a series at most that long: of the values that fall together
// the greatest is kept, so that no peak is lost.
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

// minutes is how many minutes the longest of the series has.
func (r Report) minutes() (n int) {
	for _, one := range r.Results {
		n = max(n, len(one.PerMinute), len(one.Answers))
	}
	return n
}

// Series gives the requests per minute of a result, as long as those of the
// other results.
func (r Report) Series(i int) []int { return padded(r.Results[i].PerMinute, r.minutes()) }

func padded(series []int, n int) []int {
	return append(append(make([]int, 0, n), series...), make([]int, n-len(series))...)
}

// Trouble draws in one line of that width when the upstream refuses every call,
// and when something else is wrong with it.
func (r Report) Trouble(width int, ascii bool) string {
	whole, part := '█', '░'
	if ascii {
		whole, part = '#', '-'
	}
	n := r.minutes()
	width = min(width, n)
	line := []rune(strings.Repeat(" ", width))
	for minute := range n {
		k := minute * width / n
		switch how := wrong(r.Scenario, time.Duration(minute)*time.Minute); {
		case how == everything:
			line[k] = whole
		case how == something && line[k] != whole:
			line[k] = part
		}
	}
	return string(line)
}

// trouble is how much is wrong at a moment.
type trouble int

const (
	nothing trouble = iota
	something
	everything
)

// wrong tells how much is wrong in the minute that begins at a moment.
func wrong(s config.Scenario, at time.Duration) (how trouble) {
	for _, o := range s.Outages {
		switch since := at - o.From; {
		case since <= -time.Minute || since >= o.For:
		case o.Kind == config.Total, o.Kind == config.Flapping && max(since, 0)%(o.Down+o.Up) < o.Down:
			return everything
		default:
			how = max(how, something)
		}
	}
	return how
}
