package llmtest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/transport"
)

// faults is about all that can go wrong at a provider and on the way.
func (s Suite) faults(t *testing.T) {
	t.Run("responses", s.responses)
	t.Run("streams", s.streams)
	t.Run("echoes", s.echoes)
	bounded := s
	bounded.Open = func(p Place) llm.Model {
		p.Client = &http.Client{Transport: &transport.Transport{
			Base: p.Client.Transport, Limits: transport.Limits{FirstByte: 10 * time.Minute, Idle: 5 * time.Minute},
		}}
		return s.Open(p)
	}
	t.Run("limits", bounded.limits)
	for reply, kind := range map[string]fault.Kind{
		"too-long": fault.TooLong, "quota": fault.Quota, "key-echo": fault.Auth, "blocked": fault.Refused,
	} {
		s.each(t, reply, reply, func(r *room) {
			h, f := r.fault(say("Hi"))
			if f.Kind != kind || f.Retryable() || len(h.parts) > 0 {
				r.Errorf("%v is %v, after %#v", f, f.Kind, h.parts)
			}
			if strings.Contains(f.Error()+f.Message, key) {
				r.Errorf("the key is in %v", f)
			}
			r.asked(1)
		})
	}
	t.Run("an unknown model", func(t *testing.T) {
		for _, whole := range []bool{false, true} {
			s.in(t, "no-such-model", "", whole, func(r *room) {
				if _, f := r.fault(say("Hi")); f.Kind != fault.Invalid || f.Retryable() {
					r.Errorf("%v is %v", f, f.Kind)
				}
				r.asked(1)
			})
		}
	})
}

// responses tests errors with an error status: nothing of what they state may be lost in a client.
func (s Suite) responses(t *testing.T) {
	for reply, passes := range map[string]bool{
		"400": false, "401": false, "402": false, "403": false, "404": false, "413": false, "422": false,
		"408": true, "429": true, "429;retry-after=7": true, "500": true, "502": true, "503": true, "504": true, "529": true,
		"503;retry-after=7;x-note=a": true, "529;x-should-retry=false": false, "429;retry-after=86400": false,
		`503;body="<html><body>gone</body></html>"`: true, `502;body="no JSON"`: true, `500;body=" "`: true,
	} {
		s.each(t, reply, reply, func(r *room) {
			h, f := r.fault(say("Hi"))
			if f.Retryable() != passes || len(h.parts) > 0 {
				r.Errorf("%v is %v and passes: %t, after %#v", f, f.Kind, f.Retryable(), h.parts)
			}
			seen := r.wire.answered()
			want := classify.FromResponse(seen.status, seen.header, seen.body, time.Now())
			got := *f
			want.Provider, got.Err = f.Provider, nil
			if want.Message == "" {
				got.Message = "" // a provider that is silent may be given words
			}
			if got != *want {
				r.Errorf("something has got lost: %+v\nthe response says: %+v", got, *want)
			}
			if s.Own != nil && !s.Own(f.Err) {
				r.Errorf("the cause is not the client's own error but %#v", f.Err)
			}
			r.asked(1)
		})
	}
}

// broken are answers that are not answers, or end early.
var broken = []struct {
	reply  string
	kinds  fault.Set
	status int
	said   string // before, if it streams; a body in one piece says nothing before it is whole
}{
	{"refused", only(fault.Unavailable), 0, ""},
	{"reset", only(fault.Unavailable), 0, ""},
	{"empty", only(fault.Truncated, fault.Unavailable), 200, ""},
	{"html", only(fault.Unavailable), 200, ""},
	{"error-200", only(fault.Overloaded), 200, ""},
	{"error-first", only(fault.Overloaded), 200, ""},
	{"role-error", only(fault.Overloaded), 200, ""},
	{"cut:0", only(fault.Truncated), 200, ""},
	{"cut:0:clean", only(fault.Truncated), 200, ""},
	{"cut:2", only(fault.Truncated), 200, "one two "},
	{"cut:2:clean", only(fault.Truncated), 200, "one two "},
	{"cut:3", only(fault.Truncated), 200, "one two three"},
	{"cut:3:clean", only(fault.Truncated), 200, "one two three"},
	{"cut:2:error", only(fault.Overloaded), 200, "one two "},
	{textAndCall + "+cut:2", only(fault.Truncated), 200, "one two"},
	{textAndCall + "+cut:3", only(fault.Truncated), 200, "one two"},
	{textAndCall + "+cut:3:clean", only(fault.Truncated), 200, "one two"},
	{textAndCall + "+cut:4:error", only(fault.Overloaded), 200, "one two"},
}

// textAndCall is an answer of two words and a call.
const textAndCall = `say:"one two"+call:read{"path":"a.txt or b.txt"}`

// streams tests answers that are not answers, or end early.
func (s Suite) streams(t *testing.T) {
	for _, row := range broken {
		s.each(t, row.reply, row.reply, func(r *room) {
			q := using(thinking())
			h, f := r.fault(q)
			named := f.Kind == fault.Overloaded && f.Status >= 500 // an event may state a status of its own
			if !row.kinds.Has(f.Kind) || f.Status != row.status && !named {
				r.Errorf("%v is %v with status %d, %#v", f, f.Kind, f.Status, f.Err)
			}
			want := row.said
			if r.whole {
				want = ""
			}
			if _, said := words(h); said != want || said == "" && len(h.parts) > 0 {
				r.Errorf("after %#v", h.parts)
			}
			for _, c := range h.Content().Calls() {
				if !strings.Contains(string(c.Arguments), "b.txt") {
					r.Errorf("a call that has broken off: %#v", c)
				}
			}
			r.asked(1)
		})
	}
}

// limits tests a client with limits on silence, as provider.DefaultClient has: other faults stay as they are.
func (s Suite) limits(t *testing.T) {
	for _, row := range []struct {
		reply string
		kind  fault.Kind
		after time.Duration
	}{
		{"silence", fault.Timeout, 10 * time.Minute},
		{"drip:6m", fault.Timeout, 5 * time.Minute}, // what opens the answer, or its first half, is a sign of life
		{"refused", fault.Unavailable, 0},
		{"reset", fault.Unavailable, 0},
		{"529", fault.Overloaded, 0},
		{"cut:2", fault.Truncated, 0},
		{"cut:2:clean", fault.Truncated, 0},
	} {
		s.each(t, row.reply, row.reply, func(r *room) {
			begun := time.Now()
			_, f := r.fault(say("Hi"))
			if took := time.Since(begun); f.Kind != row.kind || took < row.after || took > 2*row.after {
				r.Errorf("%v is %v after %v", f, f.Kind, took)
			}
			r.asked(1)
		})
	}
}

// only returns a set of kinds.
func only(kinds ...fault.Kind) (set fault.Set) {
	for _, k := range kinds {
		set = set.With(k)
	}
	return set
}
