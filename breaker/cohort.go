package breaker

import (
	"math"
	"time"
)

const (
	momentLength = time.Second / 8
	moments      = 256            // of which a cohort keeps the tries: 32 s
	fading       = 0.9            // of the longest refusal so far, with each shorter one
	longAgo      = 24 * time.Hour // a try that began while nothing was known of faults
	half         = 0.5            // a row that is certain is one that chance does not explain even where half of all tries fail
)

// moment numbers the eighths of a second in which tries begin. Zero: the try began while nothing was known of faults.
type moment uint32

func momentOf(t time.Time) moment { return moment(t.UnixNano() / int64(momentLength)) }

// age returns how long ago a moment was.
func (m moment) age(now time.Time) time.Duration {
	if m == 0 {
		return longAgo
	}
	return max(1, time.Duration(int32(momentOf(now)-m))*momentLength)
}

// before reports whether a moment is earlier than another one.
func (m moment) before(other moment) bool { return m == 0 || int32(m-other) < 0 }

// cohort counts the tries of a circuit by the moment in which they began, so that refusals are compared with what has
// become of the tries beside them, and not with the answers that happen to come at the same time: these may be to
// tries from before an outage, for as long as an answer takes. A try that is still open after longer than refusals
// take was accepted, so none has to be waited for.
type cohort struct {
	after   moment  // only tries of later moments count
	at      moment  // the latest
	refusal float64 // how long the longest refusals of late took, in moments
	tries   [moments]struct{ accepted, refused uint16 }
}

// newCohort returns a cohort of tries that begin later than now.
func newCohort(now time.Time) cohort {
	m := momentOf(now)
	return cohort{after: m, at: m}
}

// advance makes room for the tries of a moment.
func (h *cohort) advance(to moment) {
	for n := 0; h.at.before(to) && n < moments; n++ {
		h.at++
		h.tries[h.at%moments].accepted, h.tries[h.at%moments].refused = 0, 0
	}
	if h.at.before(to) {
		h.at = to
	}
}

// has reports whether the tries of a moment are counted.
func (h *cohort) has(m moment) bool { return m != 0 && h.after.before(m) && h.at-m < moments }

// begin counts a try. It is taken for accepted until it is refused or has told nothing.
func (h *cohort) begin(m moment) {
	if h.advance(m); h.has(m) {
		h.tries[m%moments].accepted++
	}
}

// end takes back a try that has ended without an answer.
func (h *cohort) end(began moment) {
	if h.has(began) {
		h.tries[began%moments].accepted--
	}
}

// refuse counts a try as refused.
func (h *cohort) refuse(began, now moment) {
	if h.advance(now); h.has(began) {
		h.tries[began%moments].refused++
		h.refusal = max(float64(h.at-began), h.refusal*fading)
	}
}

// answer leaves out the tries that began before one that was answered, and beside it: they are in no row of refusals.
func (h *cohort) answer(began moment) {
	if began != 0 && h.after.before(began) {
		h.after = began
	}
}

// longestRefusal returns how long refusals take at most, of late.
func (h *cohort) longestRefusal() time.Duration {
	return time.Duration((math.Ceil(h.refusal) + 1) * float64(momentLength))
}

// row returns how many of the latest tries were refused, in the order in which they began, the moment of the first of
// them, and that of the latest that was accepted; 0: none is known. The tries of the last moments are left out, since
// their refusals may be still to come.
func (h *cohort) row() (n int, first, accepted moment) {
	for m := h.at - moment(math.Ceil(h.refusal)) - 1; h.has(m); m-- {
		t := h.tries[m%moments]
		if t.accepted > 0 {
			return n, first, m
		}
		if n += int(t.refused); t.refused > 0 {
			first = m
		}
	}
	return n, first, 0
}
