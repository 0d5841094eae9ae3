package main

import (
	"slices"
	"strings"
	"time"
)

const (
	blink = 40 * time.Millisecond // what a program writes within is one change: it erases a line to write it anew
	hold  = 6 * time.Second       // of the last screen, before the picture starts again
)

// stay is a row that is to be seen for a while.
type stay struct {
	line     int
	row      row
	from, to time.Duration // to is the movie's length for what stays to the end
}

// movie is a recording as rows that come and go.
type movie struct {
	width, height int // of what is used of the terminal
	length        time.Duration
	stays         []stay // by time, then by line
}

// play carries out a recording.
func play(rec recording) (movie, error) {
	m := movie{width: rec.Width}
	t := newTerminal(rec.Width, rec.Height)
	if err := t.write("$ " + rec.Command + "\r\n"); err != nil {
		return m, err
	}
	seen := make([]stay, rec.Height) // by line
	m.show(seen, t.shown(), 0)
	var at time.Duration
	for i, o := range rec.outputs {
		if err := t.write(o.text); err != nil {
			return m, err
		}
		if at = o.at; i+1 < len(rec.outputs) && rec.outputs[i+1].at-at < blink {
			continue
		}
		m.show(seen, t.shown(), at)
	}
	m.length = (at + hold).Round(100 * time.Millisecond)
	m.show(seen, make([]row, rec.Height), m.length)
	slices.SortStableFunc(m.stays, func(a, b stay) int { return int(a.from - b.from) })
	return m, nil
}

// show compares the rows with those seen before, and keeps the stays that end.
func (m *movie) show(seen []stay, rows []row, at time.Duration) {
	for i, now := range rows {
		before := seen[i]
		if slices.Equal(before.row, now) {
			continue
		}
		if len(before.row) > 0 {
			before.to = at
			m.stays = append(m.stays, before)
			m.height = max(m.height, i+1)
		}
		seen[i] = stay{line: i, row: now, from: at}
	}
}

// words returns the distinct lines of a movie in the order in which they are seen.
func (m movie) words() string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, s := range m.stays {
		if line := strings.TrimRight(s.row.text(), " "); !seen[line] {
			seen[line] = true
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
