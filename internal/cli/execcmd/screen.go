package execcmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// screen is a terminal whose title is set while calls wait, and the desktop around it. A nil screen shows nothing.
type screen struct {
	to      io.Writer
	program string
	tell    func(notify.Notice)

	shown string        // the title; "": the program's own
	told  notify.Notice // the last one; its Event is "" unless something has been told that is not over
	since time.Time     // from which on calls wait
	until held          // the calls that had waited before
}

// patience is how long calls wait before the desktop is told.
const patience = 30 * time.Second

// show sets the title to what is waited for, beside the calls that have waited. A title that a program sets meanwhile
// is replaced a second later.
func (s *screen) show(waits map[int64]running.Wait, over held, now time.Time) {
	switch {
	case s == nil:
		return
	case len(waits) == 0:
		s.over(over, now)
		return
	case s.shown == "":
		fmt.Fprint(s.to, "\x1b[22;2t") // the terminal keeps the program's own title
		s.since, s.until = now, over
	}
	first := running.Soonest(slices.Collect(maps.Values(waits)))
	s.shown = title(first, len(waits), now) + " · " + s.program
	fmt.Fprintf(s.to, "\x1b]2;%s\x07", s.shown)
	event := notify.Began
	if !first.OpensAt.IsZero() {
		event = notify.Limit
	}
	if s.told.Event != event && (event == notify.Limit || now.Sub(s.since) >= patience) {
		s.told = notify.Notice{Event: event, Upstream: first.Upstream, Cause: first.Cause, Calls: len(waits), At: now, Began: s.since, Resets: first.OpensAt}
		s.tell(s.told)
	}
}

// over restores the program's own title, and tells the desktop that nothing waits any more.
func (s *screen) over(over held, now time.Time) {
	s.end()
	if s.told.Event == "" {
		return
	}
	n := s.told
	n.Event, n.At, n.Ended, n.Lasted = notify.Ended, now, now, now.Sub(n.Began)
	n.Calls, n.Lost = over.calls-s.until.calls, over.lost-s.until.lost
	n.Held = n.Calls - n.Lost
	n.Recovered = n.Held > 0
	limit := s.told.Event == notify.Limit
	if limit {
		n.Event = notify.Reset
	}
	s.told = notify.Notice{}
	if n.Recovered || !limit { // a window that none waits for any longer may still be spent
		s.tell(n)
	}
}

// end restores the program's own title.
func (s *screen) end() {
	if s != nil && s.shown != "" {
		s.shown = ""
		fmt.Fprint(s.to, "\x1b[23;2t")
	}
}

// title says what is waited for, in a few words.
func title(w running.Wait, calls int, now time.Time) string {
	text := "▲ "
	if w.Cause == "" {
		text += "waiting for room below a limit"
	} else {
		text += w.Cause
	}
	if w.OpensAt.IsZero() {
		text += " — " + display.Countdown(w.Due().Sub(now), now)
	} else {
		text += " — opens again at " + display.Clock(w.OpensAt, now)
	}
	if calls > 1 {
		text += fmt.Sprintf(" (%d calls)", calls)
	}
	return text
}

// tellTime is how long a desktop may take to show a notice.
const tellTime = 2 * time.Second

// desktop shows notices where the desktop has a way to do that.
type desktop struct {
	telling sync.WaitGroup
}

// tell shows a notice, a moment later.
func (d *desktop) tell(n notify.Notice) {
	d.telling.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tellTime)
		defer cancel()
		target := notify.Target{Name: "desktop", Kind: notify.Desktop}
		if _, err := exec.LookPath(notify.DesktopProgram()); err == nil {
			_ = target.Send(ctx, nil, n) // a desktop that does not answer shows nothing
		}
	})
}
