// Package display formats what people see of waits, outcomes and foreign text, the same on every
// terminal surface: the sentence while a call waits, its countdown, the line after a recovery, and
// the headline and details of a failure.
//
// It writes nothing and has no clock: the present and the width are arguments. Packages tui and cli
// print the lines.
package display

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Lines with a fixed text.
const (
	BrokeOff  = "… the answer broke off here"
	AtLimit   = "… the answer ends here because it reached its limit of tokens"
	Restarted = "▲ The process that wrote this has ended; the answer starts over"
	Missed    = "· part of the answer was missed; it is repeated from there"
	Compacted = "· the conversation was too long and has been shortened"
	LostPart  = "▲ A part of this conversation was lost in the store"
	Canceled  = "Canceled."
	Paused    = "▲ Paused: no model is asked until /unpause, and what you say waits"
	// PausedShort is Paused for narrow screens.
	PausedShort = "▲ Paused · /unpause ends that"
	Unpaused    = "· the conversation goes on"
)

// Unfinished says why an answer ends before its model had ended it; "": it does not.
func Unfinished(e turn.AssistantMessage) string {
	switch {
	case e.Partial:
		return BrokeOff
	case e.Reason == llm.Length:
		return AtLimit
	}
	return ""
}

// compactedAsAsked replaces Compacted where the user has asked for it.
const compactedAsAsked = "· the conversation has been compacted"

// CompactedLine says that the history was compacted, why, and by how much.
func CompactedLine(e turn.Compacted) string {
	switch {
	case e.TokensBefore == 0 && e.Asked:
		return compactedAsAsked
	case e.TokensBefore == 0:
		return Compacted
	case e.TokensBefore == e.TokensAfter:
		return "· the conversation is as short as it can be: about " + Thousands(e.TokensAfter) + " tokens"
	}
	why := Compacted
	if e.Asked {
		why = compactedAsAsked
	}
	return why + ": about " + Thousands(e.TokensBefore) + " tokens before, " + Thousands(e.TokensAfter) + " after"
}

// Thousands separates the thousands of a number.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// WaitLine is the line about a waiting call: state, time left until w.Due, attempt, keys. It takes fewer than width
// columns: it first drops the keys beside Ctrl+C, then uses the short form, then drops parts from the right.
func WaitLine(w policy.Wait, now time.Time, width int, keys ...string) string {
	left := w.Due.Sub(now)
	fits := func(line string) bool { return utf8.RuneCountInString(line) < width }
	state := fmt.Sprintf("▲ %s — %s (%s)", text.Capital(w.Fault.Label()), Countdown(left, now), attempt(w, now))
	if opens := w.Fault.OpensAgain(now); opens != "" && left > 0 {
		state = fmt.Sprintf("▲ %s — %s", text.Capital(w.Fault.Label()), opens)
	}
	keys = append(append([]string{state}, keys...), "Press Ctrl+C to cancel")
	for _, line := range []string{strings.Join(keys, " • "), state + " • Press Ctrl+C to cancel", state + " • ^C"} {
		if fits(line) {
			return line
		}
	}
	parts := []string{"▲ " + shortCause(w.Fault), shortTime(left, now), attemptCount(w), "^C"}
	if w.Fault.Window && left > 0 {
		opens := w.Fault.ResetAt.Sub(now)
		at := "opens " + shortTime(opens, now)
		if opens <= text.Long {
			at = "opens in " + Duration(opens)
		}
		parts = []string{"▲ " + w.Fault.Label(), at, "^C"}
	}
	for len(parts) > 1 && !fits(strings.Join(parts, " · ")) {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, " · ")
}

// FirstFailure is the line that remains of the first failure of a call.
func FirstFailure(f *fault.Error) string {
	return "▲ " + text.Capital(f.Label()) + ": " + printable.Line(f.Redacted())
}

// Slower is the line about the first long wait after quick ones. It says where the next tries come less often, and
// until when; "": w is no such wait.
func Slower(before, w policy.Wait, now time.Time) string {
	ours := func(w policy.Wait) bool { return !w.Verdict.Hinted && !w.Verdict.Window }
	if !ours(w) || !ours(before) || w.Retry() < 2 || w.Limit != policy.Unlimited ||
		before.Verdict.Wait >= slow || w.Verdict.Wait < slow {
		return ""
	}
	text := "· The quick tries are used up: from here on the waits are longer"
	if !w.Deadline.IsZero() {
		text += ", until " + Clock(w.Deadline, now)
	}
	return text
}

// slow is the shortest wait that is not quick; it is less than a minute because of jitter.
const slow = 50 * time.Second

func shortCause(f *fault.Error) string {
	if f.Status == 0 && f.Kind == fault.Unavailable {
		return f.Label()
	}
	return f.Kind.String()
}

// attempt is the number of the retry. Without a limit on retries it adds when waiting ends.
func attempt(w policy.Wait, now time.Time) string {
	if w.Limit == policy.Unlimited && !w.Deadline.IsZero() {
		return "attempt " + attemptCount(w) + ", gives up " + Clock(w.Deadline, now)
	}
	return "attempt " + attemptCount(w)
}

// attemptCount is the number of the retry from 1, and the limit if there is one.
func attemptCount(w policy.Wait) string {
	if w.Limit == policy.Unlimited {
		return strconv.Itoa(w.Retry())
	}
	return fmt.Sprintf("%d/%d", w.Retry(), w.Limit)
}

// Recovered is the line after a recovery.
func Recovered(retries int, waited time.Duration) string {
	return fmt.Sprintf("✓ Recovered after %s (waited %s)", text.Count(retries, "retry", "retries"), text.Passed(waited))
}

// MCPRetry is the line about a retry of an MCP server.
func MCPRetry(e turn.MCPRetry) string {
	return fmt.Sprintf("▲ %s does not answer (%s): try %d in %s", printable.Line(cmp.Or(e.Server, "the MCP server")), printable.Line(e.Fault.Redacted()),
		e.Retry()+1, text.Passed(e.Verdict.Wait))
}

// Switched is the line about a fallback to another model.
func Switched(e turn.Switched) string {
	text := "▲ Switching"
	if e.From != "" {
		text += " from " + printable.Line(e.From)
	}
	text += " to " + printable.Line(e.To)
	if e.Why != "" {
		text += ": " + printable.Line(e.Why)
	}
	return text
}
