package display

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Headline is the first line about a failed turn, as of now.
func Headline(e turn.Error, now time.Time) string {
	text := "Failed after " + text.Count(e.Retries, "retry attempt", "retry attempts")
	switch outage := e.Fault == nil || fault.Transient.Has(e.Fault.Kind) && !e.Fault.Window && !e.Committed(); {
	case e.Retries == 0:
		text = "Failed: " + cause(e)
	case !outage:
		text += ": " + cause(e)
	default:
		return text + ". " + cmp.Or(advice(e, now), checkConnection)
	}
	return strings.TrimSuffix(text+". "+advice(e, now), " ")
}

func cause(e turn.Error) string {
	kind, label := fault.KindOf(e.Kind), ""
	if e.Fault != nil {
		kind, label = e.Fault.Kind, e.Fault.Label()
	}
	provider := cmp.Or(e.Provider, "the provider")
	switch {
	case e.Committed():
		return "the answer broke off (" + cmp.Or(label, kind.Text()) + ")"
	case kind == fault.Invalid:
		return provider + " did not accept the request"
	case kind == fault.Refused:
		return provider + " refused the request"
	case kind == fault.TooLong:
		return "the request is too large for " + provider
	case kind == fault.Quota && label == "no credit":
		return "the account at " + provider + " has no credit"
	}
	return cmp.Or(label, kind.Text())
}

// advice is what the user can do about a failure, or "".
func advice(e turn.Error, now time.Time) string {
	switch {
	case e.Fault == nil:
		return ""
	case e.OfImages():
		return "The model does not take the images: use one that does, or go on without them."
	case e.Fault.Kind == fault.Auth:
		return "Check the key for " + e.Provider + " and try again."
	case e.Fault.Window:
		return "It " + e.Fault.OpensAgain(now) + "."
	case e.Fault.Kind == fault.Quota:
		return "Add credit or raise its limit, and try again."
	case e.Provider == "lmstudio" && e.Fault.Kind == fault.Overloaded && !e.Committed():
		return "LM Studio could not load the model: unload another one, or choose a smaller one, and try again."
	case onThisMachine(e.Provider) && e.Fault.Status == 0 && !e.Committed() && fault.Transient.Has(e.Fault.Kind):
		return "Check that " + e.Provider + " is running and try again."
	case fault.Transient.Has(e.Fault.Kind):
		return cmp.Or(blame(e), checkConnection)
	case !e.Committed():
		return change[e.Fault.Kind]
	}
	return ""
}

// change is what has to change before a request can be answered that no retry helps.
var change = map[fault.Kind]string{
	fault.Invalid: "Change the message or the model and try again.",
	fault.Refused: "Your key, your plan, your region or its rules do not allow it.",
	fault.TooLong: "Shorten it, or use a model that takes more.",
}

// OfWindow reports whether a turn has failed because a usage window is spent, which another turn can wait for.
func OfWindow(e turn.Error) bool { return e.Fault != nil && e.Fault.Window && !e.Committed() }

// blame says what the provider has answered, and for how long it failed, or "".
func blame(e turn.Error) string {
	did := map[fault.Kind]string{
		fault.Overloaded: "was overloaded", fault.RateLimited: "limited the rate",
		fault.Unavailable: "answered with server errors", fault.UpstreamTimeout: "did not answer in time",
	}[e.Fault.Kind]
	switch {
	case did == "" || e.Fault.Status < 400:
		return ""
	case e.Retries == 0 || e.Committed(): // the cause is said
		return "Try again later."
	}
	if e.Waited > 0 {
		did += " for " + text.Passed(e.Waited)
	}
	return cmp.Or(e.Provider, "The provider") + " " + did + "."
}

const checkConnection = "Check your connection and try again."

// MayPass reports whether the same request may be answered later: the fault is not about the request or the account's
// credentials.
func MayPass(e turn.Error) bool {
	if e.Fault == nil {
		return true
	}
	switch e.Fault.Kind {
	case fault.Auth, fault.Invalid, fault.Refused, fault.TooLong:
		return false
	}
	return true
}

// LongerWait says what would have waited longer: the most patient preset, if that retries after such a failure.
// Where the provider asks for more than the policy allows, it says for how much. It returns "" if nothing would
// have waited longer. with is what that also requires, such as a flag, or "".
func LongerWait(e turn.Error, with string) string {
	if e.Fault == nil || e.Committed() || e.Stop == policy.GivenUp || e.Fault.GivenUp {
		return ""
	}
	patient := policy.Patient()
	asks := fault.Error{Kind: e.Fault.Kind, Wait: e.RetryAfter}
	_, v := patient.Next(policy.Run{Tries: e.Retries, Slept: e.Waited}, &asks, false, time.Time{}, 0)
	switch {
	case e.RetryAfter > 0 && v.Stop == "":
		return "the provider asks for " + wholeTime(e.RetryAfter) + "; --policy patient would wait it out" + with
	case e.RetryAfter > 0:
		return "the provider asks for " + wholeTime(e.RetryAfter)
	case e.Retries > 0 && v.Stop == "":
		return "--policy patient waits up to " + wholeTime(patient.MaxWait) + with
	}
	return ""
}

// wholeTime is a time in words, rounded up: "40 s", "15 min", "26 h".
func wholeTime(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Minute, "min"}} {
		if n := (d + unit.size - 1) / unit.size; n < 120 {
			return fmt.Sprint(int(n), " ", unit.name)
		}
	}
	return fmt.Sprint(int((d+time.Hour-1)/time.Hour), " h")
}

func onThisMachine(provider string) bool { return provider == "ollama" || provider == "lmstudio" }

// Details are the lines below the headline: the message, the model, the time waited and the request's id.
func Details(e turn.Error) []string {
	lines := []string{printable.Line(e.Message)}
	var more []string
	if name := e.Name.String(); name != "" {
		more = append(more, printable.Line(name))
	}
	if e.Waited > 0 {
		more = append(more, "waited "+text.Passed(e.Waited))
	}
	if e.RequestID != "" {
		more = append(more, "request "+printable.Line(e.RequestID))
	}
	if len(more) > 0 {
		lines = append(lines, strings.Join(more, " · "))
	}
	return lines
}
