package gatewaycmd

import (
	"context"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
)

func TestLook_FindsMemoryThatACrowdHasNoUseFor(t *testing.T) {
	var last look
	for i, step := range []struct {
		now     look
		useless bool
	}{
		{look{20, 1, 4, 2}, false},
		{look{1500, 1, 40, 20}, false},
		{look{20, 1, 40, 20}, false}, // no crowd
		{look{10_000, 5, 160, 120}, false},
		{look{10_000, 6, 170, 120}, false},
		{look{10_000, 6, 175, 120}, true}, // Go has not collected what the crowd has no use for
		{look{10_000, 8, 121, 120}, false},
		{look{10_000, 8, 130, 120}, false},
		{look{6000, 8, 130, 120}, false},
		{look{4000, 8, 130, 120}, true}, // most have left
		{look{3000, 10, 60, 60}, false},
		{look{50, 10, 60, 60}, true},
		{look{50, 12, 60, 10}, false},
	} {
		var useless bool
		if last, useless = last.next(step.now); useless {
			last = step.now
		}
		if useless != step.useless {
			t.Errorf("look %d, %+v: memory is returned: %t, want %t", i, step.now, useless, step.useless)
		}
	}
}

// TestServe_CollectsRarelyUnlessGOGCIsSet reads what is in force when serve listens.
func TestServe_CollectsRarelyUnlessGOGCIsSet(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for gogc, want := range map[string]uint64{"": 200, "100": 100, "off": 100} { // Go itself has read it
		debug.SetGCPercent(100)
		ctx, cancel := context.WithCancel(t.Context())
		env := map[string]string{"GOGC": gogc, "HOME": t.TempDir()}
		f := configflags.Flags{Command: &cobra.Command{}, Unprotected: true, Streams: command.Streams{
			Out: io.Discard, Err: io.Discard, Env: func(name string) string { return env[name] },
		}}
		listened := false
		err := ServeUnprotected(ctx, f, func(string) {
			s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			metrics.Read(s)
			if got := s[0].Value.Uint64(); got != want {
				t.Errorf("GOGC=%q: the heap grows by %d %% between collections, want %d %%", gogc, got, want)
			}
			listened = true
			cancel()
		}, nil)
		if cancel(); err != nil || !listened {
			t.Errorf("GOGC=%q: serve listened: %t, and ended with %v", gogc, listened, err)
		}
	}
}

// forced returns how many collections the program has asked for.
func forced() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func TestWatch_CollectsWhenACrowdHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := returnMemory(t.Context())
		defer stop()
		leave := make(chan struct{})
		for range crowded {
			go func() { <-leave }()
		}
		time.Sleep(looks)
		synctest.Wait()
		before := forced()
		close(leave)
		time.Sleep(looks)
		synctest.Wait()
		if got := forced(); got < before+2 {
			t.Errorf("%d forced collections after the crowd has left, want 2 or more", got-before)
		}
	})
}
