package display

import (
	"cmp"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/turn"
)

// Headline is the first line of a failure.
func Headline(e turn.Error) string {
	gone := e.Fault == nil || fault.Transient.Has(e.Fault.Kind) && !e.Committed
	after := "Failed after " + several(e.Retries, "retry attempt", "retry attempts")
	switch {
	case e.Retries == 0:
		after = "Failed: " + causeOf(e)
	case !gone: // it was not the outage that ended it
		after += ": " + causeOf(e)
	default:
		return after + ". " + cmp.Or(remedy(e), "Check your connection and try again.")
	}
	return strings.TrimSuffix(after+". "+remedy(e), " ")
}

// causeOf gives what failed in plain words.
func causeOf(e turn.Error) string {
	if e.Committed {
		return "the answer broke off (" + cmp.Or(causeOfFault(e.Fault), e.Kind) + ")"
	}
	return cmp.Or(causeOfFault(e.Fault), e.Kind)
}

func causeOfFault(f *fault.Error) string {
	if f == nil {
		return ""
	}
	return f.Label()
}

// remedy gives what there is to do about a failure; "": what is said below.
func remedy(e turn.Error) string {
	switch {
	case e.Fault == nil:
		return ""
	case e.Fault.Kind == fault.Auth:
		return "Check the key for " + e.Provider + " and try again."
	case e.Fault.Kind == fault.Quota && !e.Fault.ResetAt.IsZero():
		return "It opens again at " + e.Fault.ResetAt.Local().Format("15:04 on Jan 2") + "."
	case e.Fault.Kind == fault.Quota:
		return "Check the account at " + e.Provider + " and try again."
	case app.Local(e.Provider) && e.Fault.Status == 0 && !e.Committed && fault.Transient.Has(e.Fault.Kind):
		return "Check that " + e.Provider + " is running and try again."
	case fault.Transient.Has(e.Fault.Kind):
		return "Check your connection and try again."
	}
	return ""
}

// Details is what stands below the headline: what was said, by whom, how long
// it was tried, and the request's id.
func Details(e turn.Error) []string {
	lines := []string{OneLine(e.Message)}
	var more []string
	if name := e.Name.String(); name != "" {
		more = append(more, OneLine(name))
	}
	if e.WaitedMs > 0 {
		more = append(more, "waited "+Duration(time.Duration(e.WaitedMs)*time.Millisecond))
	}
	if e.RequestID != "" {
		more = append(more, "request "+OneLine(e.RequestID))
	}
	if len(more) > 0 {
		lines = append(lines, strings.Join(more, " · "))
	}
	return lines
}
