package gatewaycmd_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
)

// watch runs a watchdog until the test is over.
func watch(t *testing.T, w *gatewaycmd.Watchdog, ticks <-chan time.Time) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticks:
				w.Tick()
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// ticking returns the ticks of a machine that runs.
func ticking(t *testing.T) <-chan time.Time {
	ticker := time.NewTicker(gatewaycmd.WatchdogInterval)
	t.Cleanup(ticker.Stop)
	return ticker.C
}

func checkFrozen(t *testing.T, w *gatewaycmd.Watchdog, when, want string) {
	t.Helper()
	synctest.Wait()
	if got := w.Frozen(); got != want {
		t.Errorf("Frozen %s: got %q, want %q", when, got, want)
	}
}

const eventsFrozen = "the loop of events has not moved for 30s; restart the program"

func TestWatchdog_NamesLoopThatHasFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w gatewaycmd.Watchdog
		events, other := w.Loop("the loop of events"), w.Loop("another loop")
		watch(t, &w, ticking(t))
		time.Sleep(time.Hour)
		checkFrozen(t, &w, "while all wait for work", "")
		events.Begin()
		time.Sleep(29 * time.Second)
		checkFrozen(t, &w, "29s into a step", "")
		for range 10 {
			other.Begin()
			other.End()
			time.Sleep(time.Second)
		}
		checkFrozen(t, &w, "39s into a step", eventsFrozen)
		events.End()
		checkFrozen(t, &w, "after the step", "")
		time.Sleep(time.Hour)
		checkFrozen(t, &w, "an hour after the step", "")
	})
}

func TestWatchdog_BusyLoopIsNotFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w gatewaycmd.Watchdog
		loop := w.Loop("a loop")
		watch(t, &w, ticking(t))
		for range 100 { // always within a step when a tick comes
			loop.Begin()
			time.Sleep(gatewaycmd.WatchdogInterval)
			loop.End()
		}
		loop.Begin()
		checkFrozen(t, &w, "of a loop that is always at work", "")
	})
}

// A machine that stalls delivers one tick for the whole stall, as a ticker does.
func TestWatchdog_StalledMachineIsNoFrozenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w gatewaycmd.Watchdog
		loop, ticks := w.Loop("the loop of events"), make(chan time.Time)
		watch(t, &w, ticks)
		loop.Begin()
		for range 6 {
			time.Sleep(8 * time.Hour) // a closed laptop
			ticks <- time.Now()
		}
		checkFrozen(t, &w, "after six stalls of 8h", "")
		ticks <- time.Now().Add(-24 * time.Hour) // the clock was set back
		checkFrozen(t, &w, "after a tick more", eventsFrozen)
	})
}

func TestWatchdog_ProbeThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w gatewaycmd.Watchdog
		calls, release := 0, make(chan struct{})
		w.Probe("the list of requests", func() { calls++; <-release })
		watch(t, &w, ticking(t))
		time.Sleep(34 * time.Second)
		checkFrozen(t, &w, "29s into the probe", "")
		time.Sleep(2 * time.Second)
		checkFrozen(t, &w, "31s into the probe", "the list of requests has not moved for 30s; restart the program")
		if calls != 1 {
			t.Errorf("calls of a probe that does not return: got %d, want 1", calls)
		}
		close(release)
		checkFrozen(t, &w, "after the probe", "")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if calls != 3 {
			t.Errorf("calls of the probe 10s later: got %d, want 3", calls)
		}
	})
}

func TestLoop_NilDoesNothing(t *testing.T) {
	var loop *gatewaycmd.Loop
	loop.Begin()
	loop.End()
}

func ExampleWatchdog() {
	var w gatewaycmd.Watchdog
	loop := w.Loop("the loop of events")
	loop.Begin()
	// … one step of the loop …
	loop.End()
	fmt.Printf("%q\n", w.Frozen())
	// Output: ""
}
