// Package lab simulates outages in virtual time, to compare retry policies before a real outage does.
//
// It runs the production code: a retry.Retrier with its policy, and a breaker.Breaker that the callers share.
// Only the time, the callers and the upstream are simulated. Hours pass in seconds, and the same seed
// produces the same figures to the byte. Other programs are simulated by the same retrier with their
// published numbers (strategies.yaml).
//
// The package has no I/O. Command `ridethrough lab` shows the reports.
package lab

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// Run simulates a scenario once for each strategy, each time with the same callers and seed. The results are in the
// order of the strategies. When ctx ends it returns early, with the cause. After each strategy it calls progress
// with the number of those done, possibly concurrently; progress may be nil.
func Run(ctx context.Context, s config.Scenario, all []Strategy, progress func(done int)) (*Report, error) {
	r := &Report{Scenario: s, Recovery: recovery(s), Results: make([]*Result, len(all))}
	errs := make([]error, len(all))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	var done atomic.Int64
	for i, strategy := range all {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if errs[i] = context.Cause(ctx); errs[i] != nil {
				return // do not create ten thousand callers for nothing
			}
			r.Results[i], errs[i] = newRun(s, strategy).result(ctx)
			if n := int(done.Add(1)); progress != nil && errs[i] == nil {
				progress(n)
			}
		})
	}
	running.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// Report is the outcome of a scenario.
type Report struct {
	Scenario config.Scenario
	Recovery time.Duration // the end of the last outage other than a limited capacity; of a window, when it opens
	Results  []*Result
}

// recovery returns the end of the last outage. Limited capacity counts only if there is no other outage.
func recovery(s config.Scenario) (end time.Duration) {
	for _, o := range s.Outages {
		if o.Kind != config.Limited {
			end = max(end, over(o))
		}
	}
	if end > 0 {
		return end
	}
	for _, o := range s.Outages {
		end = max(end, over(o))
	}
	return end
}

// over returns the end of an outage. A spent window opens when the next one begins.
func over(o config.Outage) time.Duration {
	if windows := o.For / max(o.Window, 1); o.Kind == config.Window && windows > 0 {
		return o.From + windows*o.Window
	}
	return o.From + o.For
}

func firstOutage(s config.Scenario) time.Duration {
	first := s.Lasts
	for _, o := range s.Outages {
		first = min(first, o.From)
	}
	return first
}

//go:embed gallery/*.yaml
var scenarios embed.FS

var gallery = []string{
	"four-hours-529", "thirty-eight-minutes-503", "tokens-per-minute", "thirty-second-blip", "flapping-evening", "slow-afternoon",
	"a-third-fails", "half-fail", "mixed-fleet", "fleet-of-ten", "fleet-limits", "five-hour-window", "weekly-window",
}

// Gallery returns the built-in scenarios, which are modelled on real outages.
func Gallery() []config.Scenario {
	all := make([]config.Scenario, len(gallery))
	for i, name := range gallery {
		s, err := config.ParseScenario(name+".yaml", []byte(ScenarioFile(name)))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err)) // tests parse them
		}
		all[i] = s
	}
	return all
}

// ScenarioFile returns the YAML of a scenario of the gallery, or "" for an unknown name.
func ScenarioFile(name string) string {
	text, _ := scenarios.ReadFile("gallery/" + name + ".yaml")
	return string(text)
}

// Find returns the scenario of the gallery with that name.
func Find(name string) (config.Scenario, bool) {
	all := Gallery()
	i := slices.IndexFunc(all, func(s config.Scenario) bool { return s.Name == name })
	if i < 0 {
		return config.Scenario{}, false
	}
	return all[i], true
}
