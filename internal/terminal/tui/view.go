package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// View returns the lines that change: the end of the answer, the status, the queue and the composer.
func (m *model) View() tea.View {
	var v tea.View
	v.ReportFocus, v.WindowTitle, v.ProgressBar = true, m.windowTitle(), m.progressBar()
	if m.quitting {
		return v
	}
	typed, below := strings.Split(m.composer.View(), "\n"), m.footer()
	printed := max(1, m.height/3) // rows that stay to the lines above the view
	above := m.linesAbove(max(0, m.height-printed-len(typed)-len(below)))
	v.SetContent(strings.Join(slices.Concat(above, typed, below), "\n"))
	if v.Cursor = m.composer.Cursor(); v.Cursor != nil {
		v.Cursor.Y += len(above)
	}
	return v
}

// linesAbove are at most room lines above the composer. The status has priority, and the end of the answer gets
// what is left.
func (m *model) linesAbove(room int) []string {
	if m.height >= 12 {
		room-- // a blank line above the composer
	}
	take := func(lines []string) []string {
		lines = lines[:min(len(lines), max(0, room))]
		room -= len(lines)
		return lines
	}
	status, question, failed := take(m.statusLines()), take(m.questionLines()), take(m.failureLines())
	picks, queue, details := take(append(m.completionLines(), m.pickLines(room)...)), take(m.queueLines()), take(m.detailLines())
	answer := append(m.tailLines(), m.toolCallLines()...)
	answer = answer[max(0, len(answer)-max(0, room)):]
	all := slices.Concat(answer, failed, status, details, question, queue, picks)
	if m.height >= 12 && (len(all) > 0 || m.needsGap) {
		all = append(all, "")
	}
	return all
}

func (m *model) toolCallLines() (lines []string) {
	for _, c := range m.calls {
		lines = append(lines, m.paint.faint(truncate(toolCallLine("…", c), m.width)))
	}
	return lines
}

func (m *model) failureLines() (lines []string) {
	if m.failure == nil {
		return nil
	}
	texts := failureText(m.failure.Error, "w", "m", "r")
	if resume := m.resumeLine(); resume != "" {
		texts = append(texts, "  "+resume)
	}
	for i, line := range texts {
		color := grey
		if i == 0 {
			color = red
		}
		lines = append(lines, m.wrapped(color, line)...)
	}
	return lines
}

func (m *model) wrapped(color ink, text string) []string {
	lines := wrap(m.paint.encode(text), m.width)
	for i, line := range lines {
		lines[i] = m.paint.in(color, line)
	}
	return lines
}

// tailLines is the unfinished end of the answer, rendered again only when it changes.
func (m *model) tailLines() []string {
	if m.tail.text != m.answer.tail || m.tail.width != m.width {
		m.tail = renderedTail{m.answer.tail, m.width, m.md.render(m.answer.tail, m.width)}
	}
	lines := slices.Clone(m.tail.lines)
	if len(lines) > 0 && m.needsGap && !m.answer.tailContinues {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func (m *model) statusLines() []string {
	if status := m.statusLine(time.Now()); status != "" {
		return []string{status}
	}
	return nil
}

func (m *model) statusLine(now time.Time) string {
	switch {
	case !m.turn.cancelingSince.IsZero():
		return m.paint.amber(m.fitting("Canceling… (Ctrl+C again quits; the conversation is kept)", "Canceling… (Ctrl+C again quits)"))
	case m.lost != nil:
		return m.paint.amber(truncate(lostLine(m.lostDue.Sub(now), int(m.lost.Retry), now, m.width), m.width))
	case m.paused:
		return m.paint.amber(m.fitting(display.Paused, display.PausedShort))
	case m.wait != nil:
		var keys []string
		if !m.hasDraft() {
			keys = []string{"r now", "d details"}
		}
		return m.paint.amber(display.WaitLine(m.wait.at(now), now, m.width, keys...))
	case m.turn.id != "" && m.answer.tail == "" && !m.question.open():
		return m.paint.faint(workingLine(now.Sub(m.turn.started)))
	case m.opening:
		return m.paint.faint("· opening…")
	}
	return ""
}

func (m *model) fitting(texts ...string) string {
	for _, text := range texts {
		if lipgloss.Width(text) < m.width {
			return text
		}
	}
	return truncate(texts[len(texts)-1], m.width)
}

// lostLine says that the server, not a provider, cannot be reached; turns continue there.
func lostLine(left time.Duration, attempt int, now time.Time, width int) string {
	line := fmt.Sprintf("▲ Cannot reach the server — %s (attempt %d)", display.Countdown(left, now), attempt)
	if utf8.RuneCountInString(line) < width {
		return line
	}
	return fmt.Sprintf("▲ no server · %s · %d · ^C", display.Duration(left), attempt)
}

func workingLine(since time.Duration) string {
	if since < time.Second {
		return "· working…"
	}
	return "· working… " + display.Duration(since.Truncate(time.Second))
}

func (m *model) detailLines() []string {
	if !m.showDetails || m.wait == nil || m.lost != nil {
		return nil
	}
	var lines []string
	f := m.wait.Fault
	about := []string{f.Label()}
	if code := f.ShortCode(); code != "" {
		about = append(about, "status "+printable.Line(code))
	}
	if f.RequestID != "" {
		about = append(about, "request "+printable.Line(f.RequestID))
	}
	if !m.wait.Deadline.IsZero() {
		about = append(about, "gives up "+display.Clock(m.wait.Deadline, time.Now()))
	}
	lines = append(lines, strings.Join(about, " · "))
	lines = append(lines, m.wait.trail...)
	var rows []string
	for _, line := range lines {
		rows = append(rows, m.wrapped(grey, "  "+line)...)
	}
	return rows
}

const maxQueueLines = 3

func (m *model) queueLines() []string {
	var lines []string
	for _, in := range slices.Concat(m.queue, m.outbox) {
		if !slices.ContainsFunc(lines, func(l string) bool { return l == in.text }) && in.id != m.turn.id {
			lines = append(lines, in.text)
		}
	}
	more := len(lines) - maxQueueLines
	lines = lines[:min(len(lines), maxQueueLines)]
	for i, text := range lines {
		lines[i] = m.paint.faint(truncate("  next: "+printable.Line(text), m.width))
	}
	if more > 0 {
		lines = append(lines, m.paint.faint(fmt.Sprintf("  and %d more", more)))
	}
	return lines
}

const maxCompletions = 8

func (m *model) completionLines() []string {
	var lines []string
	first := max(0, min(m.completions.selected-maxCompletions+1, len(m.completions.all)-maxCompletions))
	for i, p := range m.completions.all[first:min(len(m.completions.all), first+maxCompletions)] {
		line := truncate("  "+shownCompletion(p.text)+"  "+p.about, m.width)
		if first+i == m.completions.selected {
			lines = append(lines, m.paint.strong(line))
		} else {
			lines = append(lines, m.paint.faint(line))
		}
	}
	return lines
}

// footer is below the composer: a hint, or the keys that act now.
func (m *model) footer() []string {
	switch {
	case m.hint != "":
		lines := m.wrapped(grey, "  "+m.hint)
		return lines[:min(len(lines), max(1, m.height/6))]
	case m.height < 4:
		return nil
	}
	return []string{m.paint.faint(truncate("  "+m.keyHints(), m.width))}
}

func (m *model) keyHints() string {
	if m.picker != nil {
		return m.pickHints()
	}
	var keys []string
	add := func(when bool, words string) {
		if when {
			keys = append(keys, words)
		}
	}
	busy, empty := m.turn.id != "", !m.hasDraft()
	for _, s := range m.shortcuts() {
		add(empty && s.hint != "", s.hint)
	}
	_, isCommand := parseCommand(m.composer.Value())
	add(busy && !empty && !isCommand, "Enter queues")
	add(busy && isCommand, "Enter runs it")
	add(len(m.queue) > 0 && empty, "↑ takes back")
	add(len(m.queue) > 0 && empty && busy && !m.paused, "Tab sends it now")
	add(busy, "Ctrl+C cancels")
	add(!busy, cmp.Or(printable.Line(m.settings.Model), "no model"))
	add(!busy, "/help")
	return joinFitting(keys, m.width-len("  ")-1)
}

// joinFitting joins what fits into a width. The last element always stays.
func joinFitting(keys []string, width int) string {
	for len(keys) > 1 && utf8.RuneCountInString(strings.Join(keys, " · ")) > width {
		keys = slices.Delete(keys, len(keys)-2, len(keys)-1)
	}
	return strings.Join(keys, " · ")
}

type tickMsg struct{ at time.Time }

// tick redraws the screen when its text changes by itself, and at no other time: a wait of hours costs one tick a
// minute.
func (m *model) tick() tea.Cmd {
	now := time.Now()
	after, need := m.nextChange(now)
	if !need || m.quitting {
		return nil
	}
	if at := now.Add(after); m.tickAt.IsZero() || at.Before(m.tickAt) {
		m.tickAt = at
		return tea.Tick(after, func(time.Time) tea.Msg { return tickMsg{at} })
	}
	return nil
}

// onTick redraws the screen and removes what has been shown long enough.
func (m *model) onTick(t tickMsg) tea.Cmd {
	if t.at != m.tickAt {
		return nil
	}
	m.tickAt = time.Time{}
	now := time.Now()
	if m.hint != "" && !now.Before(m.hintEnds) {
		m.hint = ""
	}
	m.foldFailure(false)
	return nil
}

// nextChange is how long until the text on the screen changes; false: no change is due.
func (m *model) nextChange(now time.Time) (after time.Duration, need bool) {
	soonest := func(d time.Duration) {
		if d > 0 && (!need || d < after) {
			after, need = d, true
		}
	}
	switch {
	case m.lost != nil:
		soonest(display.NextChange(m.lostDue.Sub(now)))
	case m.paused: // its line stays as it is
	case m.wait != nil:
		soonest(display.NextChange(m.wait.Due.Sub(now)))
		soonest(m.wait.urged.Add(urgedFor).Sub(now))
	case m.turn.id != "":
		worked := now.Sub(m.turn.started)
		soonest(worked.Truncate(time.Second) + time.Second - worked)
	}
	if m.hint != "" {
		soonest(m.hintEnds.Sub(now))
	}
	if m.failure != nil {
		soonest(m.failure.shownUntil.Sub(now))
	}
	return after, need
}
