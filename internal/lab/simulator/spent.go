package simulator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SpentWindow is a usage window that is spent, such as the five hours of a subscription: every request is refused,
// in the vendor's own headers and words, until it opens again. It begins with the first request that it refuses.
// Only then it is used up.
//
// Without a vendor's own form it is a 429 with Retry-After.
type SpentWindow struct {
	For   time.Duration // until it opens
	opens time.Time     // zero: it begins with this request
}

// fiveHours is the length of the shorter one of a subscription's two windows.
const fiveHours = 5 * time.Hour

// String returns "window:90s".
func (s SpentWindow) String() string { return timed("window", s.For) }

func (s SpentWindow) play(x *exchange) {
	if s.opens.IsZero() {
		s.opens = time.Now().Add(s.For)
	}
	replace := []string{
		"{model}", x.call.model, "{opens}", unix(s.opens), "{later}", unix(s.opens.Add(fiveHours)),
		"{seconds}", inSeconds(s.left()), "{in}", inMilliseconds(s.left()),
	}
	windows := "windows"
	if s.For > fiveHours {
		windows = "long windows"
	}
	if names := x.forms[windows]; names != nil {
		parts := strings.Fields(names[0])
		replace = append(replace, "{spent}", parts[0], "{other}", parts[1], "{claim}", parts[2])
	}
	p := problemOf(x.forms, x.own("window"), slices.Clone(replace)...)
	if p == nil {
		x.w.Header().Set("Retry-After", inSeconds(s.left()))
		x.body(http.StatusTooManyRequests, jsonMedia, x.failure(http.StatusTooManyRequests))
		return
	}
	x.headers("window header", replace...)
	x.body(p.Status, jsonMedia, x.failureOf(p))
}

// left returns how long it takes until the window opens.
func (s SpentWindow) left() time.Duration { return time.Until(s.opens) }

// refuse returns the window as it is at a time since the start; false: it is open again, or has been.
func (p *Provider) refuse(s SpentWindow, at time.Duration) (Reply, bool) {
	if p.opens.IsZero() {
		p.opens = p.start.Add(at + s.For)
	}
	if s.opens = p.opens; p.start.Add(at).Before(p.opens) {
		return s, true
	}
	if p.next < len(p.script.Replies) {
		p.opens = time.Time{}
		p.next++
	}
	return nil, false
}

// unix formats an instant in Unix seconds.
func unix(t time.Time) string { return strconv.FormatInt(roundUp(t).Unix(), 10) }
