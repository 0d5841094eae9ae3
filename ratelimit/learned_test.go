package ratelimit_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// A limit a minute is learned from two refusals that agree, each after a minute of history, and from no other.
func TestTried_LearnsALimitFromTwoRefusalsThatAgree(t *testing.T) {
	limited := func(wait time.Duration) *fault.Error {
		return &fault.Error{Kind: fault.RateLimited, Status: http.StatusTooManyRequests, Wait: wait}
	}
	inStatus := func(status int) *fault.Error { return &fault.Error{Kind: fault.RateLimited, Status: status} }
	for _, tt := range []struct {
		name        string
		known       time.Duration // the history at the first refusal
		apart       time.Duration
		first, next *fault.Error
		learns      bool
	}{
		{"agree", 70 * time.Second, 20 * time.Second, limited(0), limited(0), true},
		{"agree, a wait of 30 s", 70 * time.Second, 20 * time.Second, limited(30 * time.Second), limited(30 * time.Second), true},
		{"only one", 70 * time.Second, 20 * time.Second, limited(0), nil, false},
		{"in flight together", 70 * time.Second, 5 * time.Second, limited(0), limited(0), false},
		{"little history", 10 * time.Second, 20 * time.Second, limited(0), limited(0), false},
		{"a short wait", 70 * time.Second, 20 * time.Second, limited(time.Second), limited(time.Second), false},
		{"a long wait", 70 * time.Second, 20 * time.Second, limited(time.Hour), limited(time.Hour), false},
		{"an event in a stream", 70 * time.Second, 20 * time.Second, inStatus(200), inStatus(200), true},
		{"another request in progress, 409", 70 * time.Second, 20 * time.Second, inStatus(409), inStatus(409), false},
		{"423", 70 * time.Second, 20 * time.Second, inStatus(423), inStatus(423), false},
		{"400", 70 * time.Second, 20 * time.Second, inStatus(400), inStatus(400), false},
		{"422", 70 * time.Second, 20 * time.Second, inStatus(422), inStatus(422), false},
		{"a 503 that speaks of a rate", 70 * time.Second, 20 * time.Second, inStatus(503), inStatus(503), false},
		{"another kind", 70 * time.Second, 20 * time.Second, errBusy, errBusy, false},
		{"at once", 70 * time.Second, 20 * time.Second, &fault.Error{Kind: fault.RateLimited, AtOnce: true}, &fault.Error{Kind: fault.RateLimited, AtOnce: true}, false},
		{"they differ", 70 * time.Second, 9 * time.Minute, limited(0), limited(0), false}, // with nothing sent between them but at the end
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeveral(1, false)
			s.accept(t, tt.known)
			s.refuse(t, tt.first)
			if tt.apart > time.Minute {
				time.Sleep(tt.apart - time.Minute)
				for range 15 { // a minute with a fortieth of the rate before
					s.try(t, s.tables[0], nil)
					time.Sleep(4 * time.Second)
				}
			} else {
				s.accept(t, tt.apart)
			}
			if tt.next != nil {
				s.refuse(t, tt.next)
			}
			if got := s.learned()[0]; got > 0 != tt.learns {
				t.Errorf("%s: a limit of %v was learned, want one: %v", tt.name, got, tt.learns)
			}
		})
	}
}

// The wait for a learned limit is no longer than that for which a refusal has asked, or a minute.
func TestAcquire_WaitForALearnedLimitIsNoLongerThanARefusal(t *testing.T) {
	for asked, most := range map[time.Duration]time.Duration{0: time.Minute, 20 * time.Second: 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeveral(1, false)
			s.accept(t, 70*time.Second)
			f := &fault.Error{Kind: fault.RateLimited, Status: http.StatusTooManyRequests, Wait: asked}
			s.refuse(t, f)
			s.accept(t, 20*time.Second)
			s.refuse(t, f)
			if s.learned()[0] == 0 {
				t.Fatal("no limit was learned")
			}
			begun := time.Now()
			var all sync.WaitGroup
			for range 2000 { // four times what the limit lets go in a minute
				all.Go(func() {
					c := &ratelimit.Call{Key: key, Request: &request{flow: "a", bytes: 10}}
					if err := s.tables[0].Acquire(t.Context(), c); err != nil {
						t.Errorf("acquire: %v", err)
					}
					s.tables[0].Close(c)
				})
			}
			all.Wait()
			if took := time.Since(begun); took > most+time.Second || took < most/2 {
				t.Errorf("after refusals that asked for %v the last of 2000 went after %v, want %v", asked, took, most)
			}
		})
	}
}
