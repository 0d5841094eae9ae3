package execcmd

import (
	"cmp"
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

// shower shows the waits, and the calls that have waited: once a second, and at each change.
type shower interface {
	show(waits map[int64]running.Wait, over held, now time.Time)
	// end ends what is shown. Calls may still wait.
	end(now time.Time)
}

type nowhere struct{}

func (nowhere) show(map[int64]running.Wait, held, time.Time) {}
func (nowhere) end(time.Time)                                {}

// screen is a terminal whose title is set while calls wait, with the desktop's notices.
type screen struct {
	to      io.Writer
	program string
	tell    func(notify.Notice)

	shown string        // the title; "": the program's own
	told  notify.Notice // the last one; its Event is "" unless something has been told that is not over
	since time.Time     // from which on calls wait
	until held          // the calls that had waited before
}

// patience is how long calls wait before the desktop gets a notice.
const patience = 30 * time.Second

// show sets the title. One that a program sets meanwhile is replaced a second later.
func (s *screen) show(waits map[int64]running.Wait, over held, now time.Time) {
	switch {
	case len(waits) == 0:
		s.over(over, now)
		return
	case s.shown == "":
		fmt.Fprint(s.to, "\x1b[22;2t") // the terminal keeps the program's own title
		s.since, s.until = now, over
	}
	first := running.Soonest(slices.Collect(maps.Values(waits)))
	s.shown = "▲ " + title(first, len(waits), now) + " · " + s.program
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

// over restores the program's own title, and notifies the desktop that nothing waits any more.
func (s *screen) over(over held, now time.Time) {
	s.end(now)
	if s.told.Event == "" {
		return
	}
	n := s.told
	n.Event, n.At, n.Ended, n.Lasted = notify.Ended, now, now, now.Sub(n.Began)
	ended := over.since(s.until)
	n.Calls, n.Lost, n.Held = ended.calls, ended.lost, ended.calls-ended.lost
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

func (s *screen) end(time.Time) {
	if s.shown != "" {
		s.shown = ""
		fmt.Fprint(s.to, "\x1b[23;2t")
	}
}

func title(w running.Wait, calls int, now time.Time) string {
	text := cause(w)
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

func cause(w running.Wait) string { return cmp.Or(w.Cause, "waiting for room below a limit") }

const tellTime = 2 * time.Second

// desktop shows notices where the desktop can.
type desktop struct {
	telling sync.WaitGroup
}

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
