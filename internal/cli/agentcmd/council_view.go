package agentcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/members"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// councilView shows a council.
type councilView interface {
	show(council.Event) // one event after the other
	// end is called last; message is of an error that no event has reported.
	end(status turn.Status, code int, message string)
	// broken returns the first error of writing.
	broken() error
}

// newView returns the view that flags choose. unread is called when the answer cannot be written any more.
func (c *councilCmd) newView(unread func()) councilView {
	if c.json {
		return &councilJSON{jsonView: jsonView{w: command.JSON(c.streams.Out), unread: unread, turn: c.id}}
	}
	v := newTextView(c.streams, c.plain, unread)
	return &councilTable{textView: v, answers: c.answers, judged: c.judge != ""}
}

// queueEvents shows events in order on a goroutine of their own, so that a slow reader does not delay the
// members. over waits until all are shown; no event may follow.
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

// councilJSON shows a council as events, one JSON object per line.
type councilJSON struct{ jsonView }

func (l *councilJSON) show(e council.Event) { l.write(council.Body(l.turn, e)) }

func (l *councilJSON) end(status turn.Status, code int, message string) {
	l.jsonView.end(status, code, message, "")
}

// councilTable shows a line for each member: redrawn in place on a terminal,
// otherwise appended whenever the member changes.
type councilTable struct {
	*textView         // of the judge's turn
	answers      bool // of the members are shown in any case
	judged       bool // a judge was named
	answersShown bool // the answers have been shown
	failed       bool // the judge's error was shown
	quorum       int

	over chan struct{} // closed when the lines are not redrawn any more; nil: they are not
	wg   sync.WaitGroup

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
			t.note(screen.Faint, "%s", members.GraceLine(e.Quorum, e.Grace, screen.Endless))
		}
	case e.Turn != nil:
		t.judge(e.Turn)
	case e.Ended != nil:
		t.stopRedraw()
		t.close(e.Ended, e.Err)
	}
}

func (t *councilTable) end(turn.Status, int, string) {}

// open begins the table.
func (t *councilTable) open(c *council.Council) {
	n := len(c.Members)
	models := make([]llm.Name, n)
	for i, m := range c.Members {
		models[i] = m.Model.Name()
	}
	t.names, t.quorum = members.Names(models), c.Quorum
	t.members, t.changedAt = make([]council.Member, n), make([]time.Time, n)
	if !t.judged {
		judge := fmt.Sprintf("· the judge is %s, the first member's model; --judge names another", printable.Line(c.Aggregator.Model.Name().String()))
		for _, line := range screen.Fold(judge, t.screen.Columns()) {
			t.note(screen.Faint, "%s", line)
		}
	}
	if !t.screen.Live {
		return
	}
	t.over = make(chan struct{})
	t.wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-t.over:
				return
			case <-ticker.C:
				t.redraw()
			}
		}
	})
}

// change updates a member. Where lines are only appended, it adds one, and one
// every 30 seconds while the member waits.
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
		t.note(colorOf(m), "%s", members.Line(t.names[m.Index], m, screen.Endless))
	}
}

// redraw redraws the lines.
func (t *councilTable) redraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	width, height := t.screen.Size()
	rows, now := t.lines(width), t.current()
	for _, line := range members.SharedWaitLines(now, width) {
		rows = append(rows, screen.Row{Color: screen.Amber, Text: line})
	}
	if !t.until.IsZero() {
		rows = append(rows, screen.Row{Color: screen.Faint, Text: members.GraceLine(now, time.Until(t.until), width)})
	}
	rows = append(rows, screen.Row{Color: screen.Faint, Text: "Press Ctrl+C to cancel"})
	t.screen.Rows(rows[max(0, len(rows)-height+1):]...)
}

// current returns the members with the time that has passed.
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

// lines returns a line for each member that has begun.
func (t *councilTable) lines(width int) (rows []screen.Row) {
	for i, v := range t.current() {
		if v.State != "" {
			rows = append(rows, screen.Row{Color: colorOf(v), Text: members.Line(t.names[i], v, width)})
		}
	}
	return rows
}

// colorOf returns the color of a member's line.
func colorOf(v council.Member) string {
	switch v.State {
	case council.Waiting:
		return screen.Amber
	case council.Answered:
		return screen.Green
	case council.Failed:
		return screen.Red
	case council.CutOff:
		return screen.Faint
	}
	return ""
}

// judge shows an event of the judge's turn.
func (t *councilTable) judge(e turn.Event) {
	switch e.(type) {
	case turn.Start:
		t.stopRedraw()
		if t.answers {
			t.printAnswers(t.members)
			t.note(screen.Faint, "· the council answers:")
		}
	case turn.Error:
		t.failed = true
	}
	t.textView.show(e)
}

// stopRedraw ends the redrawing and prints the last lines of the members.
func (t *councilTable) stopRedraw() {
	if t.over == nil {
		return
	}
	close(t.over)
	t.wg.Wait()
	t.over = nil
	t.screen.Rows()
	for _, r := range t.lines(t.screen.Columns()) {
		t.note(r.Color, "%s", r.Text)
	}
}

// close shows how the council has ended, unless that was shown already, and the
// members' answers if there is no merged one.
func (t *councilTable) close(r *council.Result, err error) {
	switch {
	case r.Status == turn.Aborted && r.Aggregator.State == "":
		t.note("", display.Canceled)
	case errors.Is(err, council.ErrQuorum):
		t.note(screen.Red, "%s", members.ShortfallHeadline(r.Members, t.quorum))
		t.details(r.Members)
	case r.Status == turn.Failed && !t.failed:
		t.note(screen.Red, "%s", printable.Line("Failed: "+err.Error()))
	}
	if t.answers || err != nil {
		t.printAnswers(r.Members)
	}
}

// details prints the providers' errors of failed members.
func (t *councilTable) details(members []council.Member) {
	for i, v := range members {
		if v.State == council.Failed {
			t.note("", "  %s: %s", t.names[i], printable.Line(v.Fault.Redacted()))
		}
	}
}

// printAnswers prints the members' answers, once.
func (t *councilTable) printAnswers(members []council.Member) {
	if t.answersShown {
		return
	}
	t.answersShown = true
	for i, v := range members {
		if v.State == council.Answered {
			t.note(screen.Faint, "· %s answered:", t.names[i])
			t.note("", "%s", strings.TrimSpace(printable.Text(v.Text)))
		}
	}
}
