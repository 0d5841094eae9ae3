package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/notice"
)

// View gives what changes: the end of the answer, what happens, what waits, and
// below it the composer. What stays was printed above it.
func (m *model) View() tea.View {
	var v tea.View
	v.ReportFocus, v.WindowTitle, v.ProgressBar = true, m.title(), m.progress()
	if m.leaving {
		return v
	}
	above, below := m.spaced(m.above()), m.below()
	typed := strings.Split(m.composer.View(), "\n")
	if room := max(0, m.height-1-len(typed)-len(below)); len(above) > room {
		above = above[len(above)-room:]
	}
	v.SetContent(strings.Join(slices.Concat(above, typed, below), "\n"))
	if v.Cursor = m.composer.Cursor(); v.Cursor != nil {
		v.Cursor.Y += len(above)
	}
	return v
}

// liveHeight is how many lines the view takes.
func (m *model) liveHeight() int {
	return min(m.height-1, len(m.spaced(m.above()))+m.composer.Height()+len(m.below()))
}

// spaced sets off the composer where there is room for it.
func (m *model) spaced(above []string) []string {
	if m.height < 12 || len(above) == 0 && !m.dense {
		return above
	}
	return append(above, "")
}

// above are the lines above the composer.
func (m *model) above() []string {
	lines := m.tailLines()
	for _, c := range m.calls {
		lines = append(lines, m.paint.faint(cutTo(callLine("…", c), m.width)))
	}
	if m.failed != nil {
		for i, line := range m.failure(m.failed.Error) {
			lines = append(lines, m.painted(m.failureColor(i), line)...)
		}
	}
	if status := m.status(time.Now()); status != "" {
		lines = append(lines, status)
	}
	lines = append(lines, m.detailLines()...)
	lines = append(lines, m.question()...)
	lines = append(lines, m.queueLines()...)
	return append(lines, m.pickLines()...)
}

func (m *model) failureColor(line int) func(string) string {
	if line == 0 {
		return m.paint.red
	}
	return m.paint.faint
}

// painted gives a line of ours, on several where it does not fit.
func (m *model) painted(color func(string) string, text string) []string {
	lines := wrapped(m.paint.letters(text), m.width)
	for i, line := range lines {
		lines[i] = color(line)
	}
	return lines
}

// tailLines is the end of the answer that is not finished, rendered again only
// when it has changed.
func (m *model) tailLines() []string {
	if m.tail.text != m.answer.tail || m.tail.width != m.width {
		m.tail = tail{m.answer.tail, m.width, m.md.render(m.answer.tail, m.width)}
	}
	lines := slices.Clone(m.tail.lines)
	if len(lines) > 0 && m.dense && !m.answer.cont {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// status is the one line that says what is going on.
func (m *model) status(now time.Time) string {
	switch {
	case !m.turn.stopping.IsZero():
		return m.paint.amber(cutTo("Canceling… (Ctrl+C again leaves; the conversation is kept)", m.width))
	case m.lost != nil:
		return m.paint.amber(cutTo(lostLine(m.lostDue.Sub(now), m.lost.Attempt+1, now), m.width))
	case m.wait != nil:
		var keys []string
		if !m.typed() {
			keys = []string{"r now", "d details"}
		}
		return m.paint.amber(m.wait.Line(m.wait.due.Sub(now), now, m.width, keys...))
	case m.turn.id != "" && m.answer.tail == "" && len(m.asking) == 0:
		return m.paint.faint(workingLine(now.Sub(m.turn.began)))
	case m.opening:
		return m.paint.faint("· opening…")
	}
	return ""
}

// lostLine says that it is the server that cannot be reached, and not a
// provider: what is under way goes on there.
func lostLine(left time.Duration, attempt int, now time.Time) string {
	return fmt.Sprintf("▲ Server of the conversation not reached — %s (attempt %d)", notice.When(left, now), attempt)
}

func workingLine(since time.Duration) string {
	if since < time.Second {
		return "· working…"
	}
	return "· working… " + notice.Seconds(since.Truncate(time.Second))
}

// detailLines are what d shows of what fails.
func (m *model) detailLines() []string {
	if !m.details || m.wait == nil {
		return nil
	}
	var lines []string
	f := m.wait.Fault
	about := []string{f.Kind.Words()}
	if word := f.Word(); word != "" {
		about = append(about, "status "+notice.OneLine(word))
	}
	if f.RequestID != "" {
		about = append(about, "request "+notice.OneLine(f.RequestID))
	}
	if !m.wait.Deadline.IsZero() {
		about = append(about, "gives up "+notice.Clock(m.wait.Deadline, time.Now()))
	}
	lines = append(lines, strings.Join(about, " · "))
	lines = append(lines, m.wait.trail...)
	for i, line := range lines {
		lines[i] = m.paint.faint(cutTo("  "+line, m.width))
	}
	return lines
}

// queueShown is how many of the inputs that wait are shown.
const queueShown = 3

// queueLines are what was said and waits for its turn.
func (m *model) queueLines() []string {
	var lines []string
	for _, in := range slices.Concat(m.queue, m.unsaid) {
		if !slices.ContainsFunc(lines, func(l string) bool { return l == in.text }) && in.id != m.turn.id {
			lines = append(lines, in.text)
		}
	}
	more := len(lines) - queueShown
	lines = lines[:min(len(lines), queueShown)]
	for i, text := range lines {
		lines[i] = m.paint.faint(cutTo("  next: "+notice.OneLine(text), m.width))
	}
	if more > 0 {
		lines = append(lines, m.paint.faint(fmt.Sprintf("  and %d more", more)))
	}
	return lines
}

// picksShown is how many of the things that could be meant are shown.
const picksShown = 8

func (m *model) pickLines() []string {
	var lines []string
	first := max(0, min(m.picks.at-picksShown+1, len(m.picks.all)-picksShown))
	for i, p := range m.picks.all[first:min(len(m.picks.all), first+picksShown)] {
		line := cutTo("  "+p.value+"  "+p.about, m.width)
		if first+i == m.picks.at {
			lines = append(lines, m.paint.strong(line))
		} else {
			lines = append(lines, m.paint.faint(line))
		}
	}
	return lines
}

// below is the line below the composer: what was just done, or the keys that do
// something now.
func (m *model) below() []string {
	line := m.keysLine()
	if m.hint != "" {
		line = m.hint
	}
	return []string{m.paint.faint(cutTo("  "+line, m.width))}
}

func (m *model) keysLine() string {
	var keys []string
	add := func(when bool, words string) {
		if when {
			keys = append(keys, words)
		}
	}
	busy, empty := m.turn.id != "", !m.typed()
	add(m.wait != nil && empty, "r now · d details")
	add(!busy && m.turn.again && empty, "r tries again")
	add(busy && !empty, "Enter queues")
	add(len(m.queue) > 0 && empty, "↑ takes back")
	add(len(m.queue) > 0 && empty && busy, "Tab hands over")
	add(busy, "Ctrl+C cancels")
	add(!busy, cmp.Or(notice.OneLine(m.session.Model), "no model"))
	add(!busy, "/help")
	return strings.Join(keys, " · ")
}

// titleOf gives a title for a window.
func titleOf(title string) string {
	if title == "" {
		return "ridethrough"
	}
	return notice.Cut(title, titleBound) + " - ridethrough"
}
