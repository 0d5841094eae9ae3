// Package lab plays outages in virtual time, so that people see what a way of
// trying again does before an outage does it for them.
//
// What tries again is what does so in production: a retry.Retrier with its
// policy, and a breaker.Breaker that its callers share. Only the time, the callers
// and the upstream are made up. Hours pass in seconds, and the same seed gives
// the same figures to the byte. Other programs are played by the same engine
// with their published numbers (strategies.yaml).
//
// The command line shows what comes of it; nothing here talks to anybody.
package lab

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// Run plays a scenario once for each strategy, each time with the same callers
// and the same chance, and gives the figures in the order of the strategies.
// It ends early, with the cause, when ctx does. told is told after each strategy
// how many have been played; nil: nobody.
func Run(ctx context.Context, s config.Scenario, all []Strategy, told func(played int)) (Report, error) {
	r := Report{Scenario: s, Recovery: recovery(s), Results: make([]Result, len(all))}
	errs := make([]error, len(all))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	var played atomic.Int64
	for i, one := range all {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if errs[i] = context.Cause(ctx); errs[i] != nil {
				return // ten thousand callers would come only to be sent home
			}
			r.Results[i], errs[i] = newStage(s, one).play(ctx)
			if n := int(played.Add(1)); told != nil && errs[i] == nil {
				told(n)
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return Report{}, err
		}
	}
	return r, nil
}

// Report is what a scenario comes to.
type Report struct {
	Scenario config.Scenario
	Recovery time.Duration // when the last outage is over that is more than a limited capacity
	Results  []Result
}

// recovery gives the end of the last outage, of a limited capacity only where
// there is nothing else.
func recovery(s config.Scenario) (end time.Duration) {
	for _, o := range s.Outages {
		if o.Kind != config.Limited {
			end = max(end, o.From+o.For)
		}
	}
	if end > 0 {
		return end
	}
	for _, o := range s.Outages {
		end = max(end, o.From+o.For)
	}
	return end
}

// firstOutage gives the start of the first outage.
func firstOutage(s config.Scenario) time.Duration {
	first := s.Lasts
	for _, o := range s.Outages {
		first = min(first, o.From)
	}
	return first
}
