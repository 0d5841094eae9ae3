package ratelimit

import "time"

// windowed finds out from what is stated whether a limit comes back all at once, before it has refused anything. The
// reset of such a limit stays where it is while more is used, until it has come. That of a limit which comes back
// little by little moves with all that is charged, and one that is always the same time away moves with the clock.
type windowed struct {
	found    bool
	from, to time.Time // between these is the reset; both zero: none is known
	since    time.Time // from when on all that was stated agrees
	used     float64   // the share that was used then
}

// slack is by how much resets are rounded.
const slack = time.Second

// note notes what an answer states to a request that was sent at a time; zero: not known. It reports whether that
// is of the window before this one, which an answer may be that began before its end.
func (w *windowed) note(l *Limit, window time.Duration, sent time.Time) (old bool) {
	if l.Reset.IsZero() {
		return false
	}
	took := time.Duration(0)
	if !sent.IsZero() {
		took = l.Seen.Sub(sent)
	}
	// How far away it is may have been stated when the request was received, or when it was answered.
	from, to := l.Reset.Add(-took-slack), l.Reset.Add(slack)
	if from.After(w.to) || to.Before(w.from) {
		if !w.to.IsZero() && l.Reset.Before(w.to.Add(window/2)) {
			w.found = false // it has moved, and no window has ended
		}
		w.from, w.to, w.since, w.used = from, to, l.Seen, l.Used
		return false
	}
	if old = w.found && l.Seen.After(w.to); old {
		return true
	}
	w.from, w.to = later(w.from, from), earlier(w.to, to)
	if l.Used > w.used+margin && l.Seen.Sub(w.since) > 2*took+4*slack && l.Reset.Sub(l.Seen) <= window {
		w.found = true
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
