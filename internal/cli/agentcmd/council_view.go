package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

type councilView interface {
	show(council.Event) // one event after the other
	ending
}

// newView returns the view that the flags select. It calls unread once the answer can no longer be written.
func (c *councilCmd) newView(unread func()) councilView {
	if c.json {
		return &councilJSON{jsonView: jsonView{w: command.JSON(c.Streams.Out), unread: unread, turn: c.id}}
	}
	v := newTextView(c.Streams, c.plain, unread)
	return &councilTable{textView: v, answers: c.answers, judged: c.judge != ""}
}

// queueEvents shows events in order on its own goroutine, so that a slow reader does not delay the members. over
// waits until all are shown; no event may follow.
func queueEvents(show func(council.Event)) (queue func(council.Event), over func()) {
	var mu sync.Mutex
	var queued []council.Event
	news, shown := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(shown)
		for range news {
			mu.Lock()
			events := queued
			queued = nil
			mu.Unlock()
			for _, e := range events {
				show(e)
			}
		}
	}()
	queue = func(e council.Event) {
		mu.Lock()
		defer mu.Unlock()
		queued = append(queued, e)
		select {
		case news <- struct{}{}:
		default: // the goroutine is already notified
		}
	}
	return queue, func() { close(news); <-shown }
}

type councilJSON struct{ jsonView }

func (l *councilJSON) show(e council.Event) { l.write(council.Body(l.turn, e)) }

// councilTable shows a line per member: redrawn in place on a terminal, otherwise appended whenever the member
// changes.
type councilTable struct {
	*textView         // of the judge's turn
	answers      bool // of the members are shown in any case
	judged       bool // a judge was named
	answersShown bool // the answers have been shown
	failed       bool // the judge's error was shown
	quorum       int

	over func() // ends the redrawing; nil: the lines are not redrawn

	mu        sync.Mutex // guards the fields below
	names     []string
	members   []council.Member
	changedAt []time.Time // of each member
	until     time.Time   // the end of the grace period; zero: it has not begun
}

func (t *councilTable) show(e council.Event) {
	switch {
	case e.Started != nil:
		t.open(e.Started)
	case e.Member != nil:
		t.change(*e.Member, e.Unchanged)
	case e.Quorum != nil:
		t.mu.Lock()
		t.until = time.Now().Add(e.Grace)
		t.mu.Unlock()
		if !t.screen.Live {
			t.note(command.Faint, "%s", GraceLine(e.Quorum, e.Grace, command.Endless))
		}
	case e.Turn != nil:
		t.judge(e.Turn)
	case e.Ended != nil:
		t.stopRedraw()
		t.close(e.Ended, e.Err)
	}
}

func (t *councilTable) end(turn.Status, int, string, string) {}

func (t *councilTable) open(c *council.Council) {
	n := len(c.Members)
	models := make([]llm.Name, n)
	for i, m := range c.Members {
		models[i] = m.Model.Name()
	}
	t.names, t.quorum = MemberNames(models), c.Quorum
	t.members, t.changedAt = make([]council.Member, n), make([]time.Time, n)
	if !t.judged {
		judge := fmt.Sprintf("· the judge is %s, the first member's model; --judge names another", printable.Line(c.Aggregator.Model.Name().String()))
		for line := range strings.SplitSeq(text.Wrap(judge, t.screen.Columns()), "\n") {
			t.note(command.Faint, "%s", line)
		}
	}
	if !t.screen.Live {
		return
	}
	t.over = t.screen.Redraw(context.Background(), t.redraw)
}

// change updates a member. Without redrawing, it adds a line, and one every 30 seconds while the member waits.
func (t *councilTable) change(m council.Member, unchanged bool) {
	t.mu.Lock()
	if from := t.members[m.Index].Name; from != m.Name && from != (llm.Name{}) { // a fallback has taken over
		t.names[m.Index] += " → " + printable.Line(m.Name.String())
	}
	t.members[m.Index], t.changedAt[m.Index] = m, time.Now()
	t.mu.Unlock()
	switch {
	case t.screen.Live:
		t.redraw()
	case !unchanged || m.State == council.Waiting:
		t.note(memberColors[m.State], "%s", MemberLine(t.names[m.Index], m, command.Endless))
	}
}

func (t *councilTable) redraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	width, height := t.screen.Size()
	rows, now := t.lines(width), t.current()
	for _, line := range SharedWaitLines(now, width) {
		rows = append(rows, command.Row{Color: command.Amber, Text: line})
	}
	if !t.until.IsZero() {
		rows = append(rows, command.Row{Color: command.Faint, Text: GraceLine(now, time.Until(t.until), width)})
	}
	rows = append(rows, command.Row{Color: command.Faint, Text: "Press Ctrl+C to cancel"})
	t.screen.Rows(rows[max(0, len(rows)-height+1):]...)
}

func (t *councilTable) current() []council.Member {
	now := slices.Clone(t.members)
	for i := range now {
		if v := &now[i]; v.State == council.Asking || v.State == council.Waiting {
			d := time.Since(t.changedAt[i])
			v.Took, v.Left, v.Wait = v.Took+d, max(0, v.Left-d), max(0, v.Wait-d)
		}
	}
	return now
}

func (t *councilTable) lines(width int) (rows []command.Row) {
	for i, v := range t.current() {
		if v.State != "" {
			rows = append(rows, command.Row{Color: memberColors[v.State], Text: MemberLine(t.names[i], v, width)})
		}
	}
	return rows
}

var memberColors = map[council.State]string{
	council.Waiting: command.Amber, council.Answered: command.Green, council.Failed: command.Red, council.CutOff: command.Faint,
}

func (t *councilTable) judge(e turn.Event) {
	switch e.(type) {
	case turn.Start:
		t.stopRedraw()
		if t.answers {
			t.printAnswers(t.members)
			t.note(command.Faint, "· the council answers:")
		}
	case turn.Error:
		t.failed = true
	}
	t.textView.show(e)
}

func (t *councilTable) stopRedraw() {
	if t.over == nil {
		return
	}
	t.over()
	t.over = nil
	t.screen.Rows()
	for _, r := range t.lines(t.screen.Columns()) {
		t.note(r.Color, "%s", r.Text)
	}
}

// close shows how the council has ended, unless that was shown already, and the members' answers if there is no
// merged one.
func (t *councilTable) close(r *council.Result, err error) {
	switch {
	case r.Status == turn.Aborted && r.Aggregator.State == "":
		t.note("", display.Canceled)
	case errors.Is(err, council.ErrQuorum):
		t.note(command.Red, "%s", ShortfallHeadline(r.Members, t.quorum))
		t.details(r.Members)
	case r.Status == turn.Failed && !t.failed:
		t.note(command.Red, "%s", printable.Line("Failed: "+err.Error()))
	}
	if t.answers || err != nil {
		t.printAnswers(r.Members)
	}
}

func (t *councilTable) details(members []council.Member) {
	for i, v := range members {
		if v.State == council.Failed {
			t.note("", "  %s: %s", t.names[i], printable.Line(v.Fault.Redacted()))
		}
	}
}

func (t *councilTable) printAnswers(members []council.Member) {
	if t.answersShown {
		return
	}
	t.answersShown = true
	for i, v := range members {
		if v.State == council.Answered {
			t.note(command.Faint, "· %s answered:", t.names[i])
			t.note("", "%s", strings.TrimSpace(printable.Text(v.Text)))
		}
	}
}
