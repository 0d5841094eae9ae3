package gateway

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
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
// program that asks again learns this from the status of its next request, since this one can no longer state it.
// resp is the upstream's last response; nil: the upstream sent no response, or another call has it.
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

// dropLongWaits leaves long waits out of the headers of the upstream's last response, unless the upstream has said that
// the client is to retry, or the client has a key to renew.
func (c *call) dropLongWaits(h http.Header) {
	if c.preamble != nil { // an agent or gateway of this project reads the wait and does not sleep
		return
	}
	if h.Get(shouldRetryHeader) == "true" || c.shared.at.refusesKey(c.outcome.Fault) {
		return
	}
	for _, w := range api.WaitHeaders() {
		if statesLongWait(h.Get(w.Name), w.Unit) {
			h.Del(w.Name)
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
