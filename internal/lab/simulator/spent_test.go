package simulator_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// windowed are requests to the vendors with windows in their own form, and to one without.
var windowed = []struct{ name, path, body string }{
	{"anthropic", messages, plain},
	{"anthropic, streamed", messages, streamed},
	{"codex", responses, streamed},
	{"openai", completions, plain},
	{"gemini", geminiWhole, plain},
	{"ollama", ollamaChat, plain},
	{"lm studio", studio, plain},
}

func TestSpentWindow_IsKnownByItsResetAtEachVendor(t *testing.T) {
	for _, tt := range windowed {
		for _, length := range []time.Duration{5 * time.Hour, 72 * time.Hour} {
			bubble(t, simulator.Script{Replies: []simulator.Reply{simulator.SpentWindow{For: length}}}, func(t *testing.T, p *simulator.Provider) {
				ask(t, p, tt.path, tt.body)
				passed := 72*time.Minute + 300*time.Millisecond
				time.Sleep(passed)
				got := ask(t, p, tt.path, tt.body)
				f := classify.FromResponse(got.status, got.header, []byte(got.body), time.Now())
				left := f.RetryAfter(time.Now())
				if f.Kind != fault.Quota || !f.Window || left < length-passed || left > length-passed+time.Second {
					t.Errorf("%s, window of %v: %d %s, read as %v by %s, window %t, opens in %v; want a window that opens in %v",
						tt.name, length, got.status, got.body, f.Kind, f.Rule, f.Window, left, length-passed)
				}
			})
		}
	}
}

func TestSpentWindow_RefusesEveryRequestUntilItOpens(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "ok, window:90s*2, 500")}, func(t *testing.T, p *simulator.Provider) {
		for _, want := range []struct {
			after  time.Duration
			status int
		}{
			{0, 200}, {time.Hour, 429}, {time.Second, 429}, {88 * time.Second, 429}, {time.Second, 429}, {89 * time.Second, 429}, {time.Second, 500}, {0, 200},
		} {
			time.Sleep(want.after)
			if got := ask(t, p, messages, plain); got.status != want.status {
				t.Errorf("%v later: status %d, want %d: %s", want.after, got.status, want.status, got.body)
			}
		}
	})
}

// A window that is the reply to all further requests opens for good.
func TestSpentWindow_OpensOnceAtTheEndOfAScript(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.SpentWindow{For: time.Minute}}, func(t *testing.T, p *simulator.Provider) {
		for i, want := range []int{429, 200, 200} {
			if got := ask(t, p, completions, plain); got.status != want {
				t.Errorf("request %d: status %d, want %d: %s", i+1, got.status, want, got.body)
			}
			time.Sleep(time.Minute)
		}
	})
}
