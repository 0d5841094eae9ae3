package breaker_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

var errSilent = &fault.Error{Kind: fault.Timeout, Code: fault.Silence, Message: "no first byte in 1m30s"}

func TestBreaker_ThreeSilentTriesInARowOpenTheModelsCircuit(t *testing.T) {
	sonnet, other := breaker.Scope{Model: "sonnet", Credential: "a"}, breaker.Scope{Model: "opus", Credential: "b"}
	tests := []struct {
		name     string
		outcomes []*fault.Error
		want     string // what the same scope and another credential hear
	}{
		{"two", []*fault.Error{errSilent, errSilent}, "goes"},
		{"three", []*fault.Error{errSilent, errSilent, errSilent}, "timeout"},
		{"an answer between", []*fault.Error{errSilent, errSilent, nil, errSilent, errSilent}, "goes"},
		{"a fault between", []*fault.Error{errSilent, errSilent, errBusy, errSilent}, "goes"},
		{"five faults, of which two silent", []*fault.Error{errSilent, errSilent, errBusy, errBusy, errSilent}, "timeout"},
		{"other limits of ours", []*fault.Error{errExpired, errExpired, errExpired, errExpired, errExpired}, "goes"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			meet(t, &g, opus, tt.outcomes...)
			if a, b, c := says(t, &g, opus), says(t, &g, other), says(t, &g, sonnet); a != tt.want || b != tt.want || c != "goes" {
				t.Errorf("%s: same %q, other credential %q, other model %q; want %q, %q, goes", tt.name, a, b, c, tt.want, tt.want)
			}
		})
	}
}

func TestBreaker_SilentProbeIsWaitedForAMinute(t *testing.T) {
	for _, tt := range []struct {
		fault *fault.Error
		want  time.Duration
	}{{errSilent, time.Minute}, {errBusy, 30 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			fail(t, &g, opus, tt.fault)
			time.Sleep(time.Second)
			if _, _, err := enter(t, &g, opus); err != nil { // says nothing
				t.Fatalf("acquire: %v", err)
			}
			begun := time.Now()
			if _, _, err := enter(t, &g, opus); err != nil || time.Since(begun) != tt.want {
				t.Errorf("after %v: the next call: %v after %v, want a permit after %v", tt.fault, err, time.Since(begun), tt.want)
			}
		})
	}
}

func TestBreaker_SilenceIsDiscoveredByFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := down(20*time.Minute, errSilent)
		u.sick = 90 * time.Second // the limit on the first byte
		var g breaker.Breaker
		var all sync.WaitGroup
		var mu sync.Mutex
		var last time.Duration // of an answer, after the upstream is back
		for i := range 120 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Second)
				if err := ask(t.Context(), &g, policy.Patient(), opus, u); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
				mu.Lock()
				defer mu.Unlock()
				last = max(last, time.Since(u.to))
			})
		}
		all.Wait()
		discovered := u.from.Add(2 * time.Minute)
		if n := u.since(discovered) - u.since(u.to); n > 20 {
			t.Errorf("%d calls were sent into the silence from its third minute on, want about one a minute", n)
		}
		if last > 3*time.Minute { // a silent try from before ends 90 s after, and its call waits once more
			t.Errorf("the last of %d calls was answered %v after the upstream was back, want within 3 min", 120, last)
		}
		quiet(t, &g)
	})
}
