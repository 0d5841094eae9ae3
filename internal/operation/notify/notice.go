// Package notify tells people about outages and limits: by webhook, ntfy, Slack or the desktop. A [Follower] decides
// when there is a notice, of the incidents that package history has found; a [Notifier] delivers it.
//
// A notice has names and numbers only, nothing of a request, an answer or a credential. Sending one holds nothing
// up: each target has a bounded queue, and one that fails is tried again a few times by this project's own policy.
package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

// Event is what a notice is about.
type Event string

// The events.
const (
	Began     Event = "began"         // an outage
	Continues Event = "continues"     // it is not over
	Ended     Event = "ended"         // it is over
	Limit     Event = "limit-reached" // a usage limit, and when it is reset is known
	Reset     Event = "limit-reset"   // the limit is over
	Test      Event = "test"
)

// Events returns the events that a target may choose.
func Events() []Event { return []Event{Began, Continues, Ended, Limit, Reset} }

// Notice is the content of a notice.
type Notice struct {
	Event     Event
	ID        string   // the same in all notices of one incident or limit
	Upstream  string   // its name in the configuration
	Models    []string // that fail, in order; none: not known
	Partial   bool     // other models are answered
	Cause     string   // in plain words: "overloaded"
	At        time.Time
	Began     time.Time
	Ended     time.Time // zero: it has not
	Resets    time.Time // of a limit, as the provider states it; zero: unknown
	Lasted    time.Duration
	Recovered bool   // it ended with an answer, and not because none is asked for
	Tries     int    // requests that were sent to the upstream meanwhile; 0: not known
	Failures  int    // of these
	Calls     int    // that had to wait
	Held      int    // of these, answered
	Lost      int    // of these, not answered
	Vendor    string // what the provider's status page says; "": unknown
	Host      string // the name of the machine
}

// Waiting returns the number of calls that still wait.
func (n Notice) Waiting() int { return max(0, n.Calls-n.Held-n.Lost) }

// FailedPercent returns the percentage of requests that have failed.
func (n Notice) FailedPercent() int {
	if n.Tries == 0 {
		return 0
	}
	return (100*n.Failures + n.Tries/2) / n.Tries
}

// Title summarizes the notice.
func (n Notice) Title() string {
	switch n.Event {
	case Began:
		if n.Partial {
			return n.Upstream + " fails in part"
		}
		return n.Upstream + " fails"
	case Continues:
		return n.Upstream + " still fails"
	case Ended:
		if !n.Recovered {
			return n.Upstream + " gets no more requests"
		}
		return n.Upstream + " is back"
	case Limit:
		return n.Upstream + ": limit reached"
	case Reset:
		return n.Upstream + ": limit reset"
	}
	return "Test of ridethrough"
}

// Text returns the notice in sentences.
func (n Notice) Text() string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	sayWaiting := func() {
		if waiting := n.Waiting(); waiting > 0 {
			say("%s waiting.", text.Count(waiting, "call is", "calls are"))
		}
	}
	switch n.Event {
	case Began, Continues:
		since := fmt.Sprintf("%s since %s", text.Capital(cmp.Or(n.Cause, "failing")), clock(n.Began, n.At))
		if n.Tries > 0 {
			since += fmt.Sprintf(", %d %% of %s failed", n.FailedPercent(), text.Count(n.Tries, "request", "requests"))
		}
		say("%s.", since)
		if n.Partial {
			say("Other models are answered.")
		}
		if n.Vendor != "" {
			say("Their status page says: %s.", strings.TrimRight(n.Vendor, "."))
		}
		sayWaiting()
	case Ended:
		say("It failed for %s: %s.", span(n.Lasted), cmp.Or(n.Cause, "unknown cause"))
		if !n.Recovered {
			say("No request has been sent to it since.")
		}
		say("%s had to wait: %d answered, %d not answered, %d waiting.", text.Count(n.Calls, "call", "calls"), n.Held, n.Lost, n.Waiting())
	case Limit:
		if n.Resets.IsZero() {
			say("%s.", text.Capital(cmp.Or(n.Cause, "a usage limit")))
		} else {
			say("%s until %s, in %s.", text.Capital(cmp.Or(n.Cause, "a usage limit")), clock(n.Resets, n.At), span(n.Resets.Sub(n.At)))
		}
		sayWaiting()
	case Reset:
		say("It was reached for %s.", span(n.Lasted))
	default:
		say("Notices from %s arrive here.", cmp.Or(n.Host, "this machine"))
	}
	if models := n.models(); models != "" {
		say("Models: %s.", models)
	}
	return strings.Join(said, " ")
}

const namedBound = 3

func (n Notice) models() string {
	var names []string
	for _, m := range n.Models {
		if m != "" {
			names = append(names, m)
		}
	}
	if more := len(names) - namedBound; more > 0 {
		names = append(names[:namedBound], text.Count(more, "other", "others"))
	}
	return strings.Join(names, ", ")
}

// clock returns a local time of day, with the date if it is far away.
func clock(t, now time.Time) string {
	if t.Sub(now).Abs() > 18*time.Hour {
		return t.Local().Format("2 January 15:04 MST")
	}
	return t.Local().Format("15:04 MST")
}

// span returns a duration in few digits: 45s, 12m, 3h5m.
func span(d time.Duration) string {
	unit := time.Second
	if d >= time.Hour {
		unit = time.Minute
	}
	return text.Duration(max(d, 0).Round(unit))
}
