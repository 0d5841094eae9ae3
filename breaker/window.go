package breaker

import (
	"math"
	"time"
)

const (
	rowToOpen    = 5                // faults in a row open a circuit where faults are not usual
	silentToOpen = 3                // of them, if they are silent tries: each has cost its caller a minute or more
	windowLength = 10 * time.Second // tries count for about this long
	windowTries  = 200              // but no more of them than this
	minVolume    = 100              // fewer tries do not show how usual faults are
	mostlyFails  = 2.0 / 3          // from this share of faults on an upstream is down rather than failing in part
	chance       = 1e-8             // a row less probable than this is not chance
	slowAnswers  = 2 * time.Second  // after so long without an answer, tries that are not refused interrupt a row in its place
)

// window counts the latest tries while a circuit is closed. A try counts when it
// begins and a fault when it is reported. So the answers to calls from before an
// outage, which come for a while, do not hide it.
type window struct {
	at            time.Time // when it was aged last
	tries, faults float64   // the older the lighter
}

// begin counts a try.
func (w *window) begin() {
	w.tries++
	keep := min(1, windowTries/w.tries)
	w.tries *= keep
	w.faults *= keep
}

// age takes weight from older tries.
func (w *window) age(now time.Time) {
	keep := math.Exp(-now.Sub(w.at).Seconds() / windowLength.Seconds())
	w.tries *= keep
	w.faults *= keep
	w.at = now
}

// failsInPart reports whether enough tries show that faults are usual, and that
// the upstream answers beside them.
func (w *window) failsInPart() bool {
	return w.tries >= minVolume && w.faults < mostlyFails*w.tries
}

// toOpen returns how many faults in a row open the circuit; row is their number
// so far. Where faults are usual, five in a row are chance: they come about once
// a second if a third of 200 tries a second fails. There the row must be one that
// chance does not explain.
func (w *window) toOpen(row int) int {
	usual := w.usual(row)
	if !w.failsInPart() || usual <= 0 {
		return rowToOpen
	}
	return max(rowToOpen, unlikely(usual))
}

// certain returns how many faults in a row are an outage even where half of all tries fail.
func (w *window) certain(row int) int {
	if !w.failsInPart() {
		return unlikely(half)
	}
	return unlikely(max(half, w.usual(row)))
}

// usual returns the share of faults before a row.
func (w *window) usual(row int) float64 {
	before := w.faults - float64(row)
	if before <= 0 {
		return 0
	}
	return before / (w.tries - float64(row))
}

// unlikely returns how many faults in a row chance does not explain where such a share of tries fails.
func unlikely(share float64) int { return int(math.Ceil(math.Log(chance) / math.Log(share))) }
