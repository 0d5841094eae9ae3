package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// View gives what changes: the end of the answer, what happens, what waits, and
// below it the composer. What stays was printed above it.
func (m *model) View() tea.View {
	var v tea.View
	v.ReportFocus, v.WindowTitle, v.ProgressBar = true, m.title(), m.progress()
	if m.leaving {
		return v
	}
	typed, below := strings.Split(m.composer.View(), "\n"), m.below()
	above := m.above(max(0, m.height-m.lot()-len(typed)-len(below)))
	v.SetContent(strings.Join(slices.Concat(above, typed, below), "\n"))
	if v.Cursor = m.composer.Cursor(); v.Cursor != nil {
		v.Cursor.Y += len(above)
	}
	return v
}

// above are the lines above the composer, of which there may be so many. Where
// that is too few, what is going on goes before what is known besides, and the
// end of the answer has what is left.
func (m *model) above(room int) []string {
	if m.height >= 12 {
		room-- // the composer is set off
	}
	take := func(lines []string) []string {
		lines = lines[:min(len(lines), max(0, room))]
		room -= len(lines)
		return lines
	}
	status, question, failed := take(m.statusLines()), take(m.question()), take(m.failureLines())
	picks, queue, details := take(m.pickLines()), take(m.queueLines()), take(m.detailLines())
	answer := append(m.tailLines(), m.callLines()...)
	answer = answer[max(0, len(answer)-max(0, room)):]
	all := slices.Concat(answer, failed, status, details, question, queue, picks)
	if m.height >= 12 && (len(all) > 0 || m.dense) {
		all = append(all, "")
	}
	return all
}

// callLines are the tool calls that are under way.
func (m *model) callLines() (lines []string) {
	for _, c := range m.calls {
		lines = append(lines, m.paint.faint(cutTo(callLine("…", c), m.width)))
	}
	return lines
}

// failureLines are what the last turn has failed of, while that is shown.
func (m *model) failureLines() (lines []string) {
	if m.failed == nil {
		return nil
	}
	for i, line := range m.failure(m.failed.Error) {
		lines = append(lines, m.painted(m.failureColor(i), line)...)
	}
	return lines
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

func (m *model) statusLines() []string {
	if status := m.status(time.Now()); status != "" {
		return []string{status}
	}
	return nil
}

// status is the one line that says what is going on.
func (m *model) status(now time.Time) string {
	switch {
	case !m.turn.stopping.IsZero():
		return m.paint.amber(cutTo("Canceling… (Ctrl+C again leaves; the conversation is kept)", m.width))
	case m.lost != nil:
		return m.paint.amber(cutTo(lostLine(m.lostDue.Sub(now), m.lost.Attempt+1, now, m.width), m.width))
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
func lostLine(left time.Duration, attempt int, now time.Time, width int) string {
	line := fmt.Sprintf("▲ Server of the conversation not reached — %s (attempt %d)", display.Countdown(left, now), attempt)
	if utf8.RuneCountInString(line) < width {
		return line
	}
	return fmt.Sprintf("▲ server not reached · %s · %d · ^C", display.Duration(left), attempt)
}

func workingLine(since time.Duration) string {
	if since < time.Second {
		return "· working…"
	}
	return "· working… " + display.Duration(since.Truncate(time.Second))
}

// detailLines are what d shows of what fails.
func (m *model) detailLines() []string {
	if !m.details || m.wait == nil || m.lost != nil {
		return nil
	}
	var lines []string
	f := m.wait.Fault
	about := []string{f.Kind.Text()}
	if word := f.ShortCode(); word != "" {
		about = append(about, "status "+display.OneLine(word))
	}
	if f.RequestID != "" {
		about = append(about, "request "+display.OneLine(f.RequestID))
	}
	if !m.wait.Deadline.IsZero() {
		about = append(about, "gives up "+display.Clock(m.wait.Deadline, time.Now()))
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
		lines[i] = m.paint.faint(cutTo("  next: "+display.OneLine(text), m.width))
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
	switch {
	case m.hint != "":
		line = m.hint
	case m.height < 4:
		return nil
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
	add(m.wait != nil && m.lost == nil && empty, "r now · d details")
	add(!busy && m.turn.again && empty, "r tries again")
	add(busy && !empty, "Enter queues")
	add(len(m.queue) > 0 && empty, "↑ takes back")
	add(len(m.queue) > 0 && empty && busy, "Tab hands over")
	add(busy, "Ctrl+C cancels")
	add(!busy, cmp.Or(display.OneLine(m.session.Model), "no model"))
	add(!busy, "/help")
	return strings.Join(keys, " · ")
}

// titleOf gives a title for a window.
func titleOf(title string) string {
	if title == "" {
		return "ridethrough"
	}
	return display.Truncate(title, titleBound) + " - ridethrough"
}
