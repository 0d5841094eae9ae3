package gateway

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// refusesKey reports whether a fault is the upstream's refusal of the client's own credential. The client may have
// another one, or renew it: what it does is for it to decide, by the upstream's own answer.
func (u *upstream) refusesKey(f *fault.Error) bool {
	switch {
	case u.ownCredential() || f.Status == 0 || f.Status >= http.StatusInternalServerError:
		return false
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		return f.Kind == fault.Auth || f.Kind == fault.Refused
	}
	return f.Kind == fault.Auth
}

// endGivenUp ends a stream whose headers are out with the last fault. A refused key could have expired in the wait: a
// program that asks again is told so by the status of its next request, which this one has lost. resp is the
// upstream's last response; nil: it has none, or another call has it.
func (c *call) endGivenUp(resp *http.Response) {
	f := c.outcome.Fault
	if c.shared.at.refusesKey(f) && c.lastClient().AsksAgain() {
		c.endStream(c.dialect.BrokenEvent, &fault.Error{Kind: fault.Overloaded}, "ridethrough: "+mayPass+f.Error())
		return
	}
	said := *f
	if said.Body = ""; resp != nil && resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxOwnError)) // a part of it is no JSON
		said.Body = string(text)
	}
	c.endStream(c.dialect.FinalEvent, &said, c.giveUpMessage())
}

// maxOwnError is how much of the upstream's last response is read: as much as has been, to name the fault.
const maxOwnError = 64 << 10

// longestStated is the longest wait that the last answer states. SDKs sleep out a longer one before they return the
// error; see docs/holding.md.
const longestStated = time.Minute

// waitHeaders are the headers of an answer that state a wait, with their units. Retry-After may have a date too.
var waitHeaders = [...]struct {
	name string
	unit time.Duration
}{{"Retry-After", time.Second}, {"Retry-After-Ms", time.Millisecond}, {"X-Ms-Retry-After-Ms", time.Millisecond}}

// endRetries completes the headers of the upstream's last response: the client is to stop, unless the upstream has said
// otherwise or the client has a key to renew. Another key of the client's is of no use where the upstream has its own.
func (c *call) endRetries(h http.Header) {
	f := c.outcome.Fault
	if c.shared.at.refusesKey(f) {
		return
	}
	said := h.Get(shouldRetryHeader)
	if said == "" && (f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden) {
		h.Set(shouldRetryHeader, "false")
	}
	if said == "true" || c.preamble != nil { // an agent or gateway of this project reads the wait and does not sleep
		return
	}
	for _, w := range waitHeaders {
		if statesLongWait(h.Get(w.name), w.unit) {
			h.Del(w.name)
		}
	}
}

// statesLongWait reports whether a header's value is a wait above longestStated.
func statesLongWait(value string, unit time.Duration) bool {
	n, err := strconv.ParseFloat(value, 64) // an overflow is infinite
	if err == nil || n > 0 {
		return n*unit.Seconds() > longestStated.Seconds()
	}
	at, err := http.ParseTime(value)
	return err == nil && time.Until(at) > longestStated
}
