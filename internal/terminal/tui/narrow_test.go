package tui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// In forty columns the keys of a wait, and what a pause is, are not cut off.
func TestNarrow_KeysAndPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config(newService(t, fails(9, llmtest.Says("never"))...)), 40, 24)
		s.types("x")
		s.sees("  r now · m model · Ctrl+C cancels")
		s.types("and this")
		s.types("/pause")
		s.wait(time.Second)
		s.sees("▲ Paused · /unpause ends that", "  ↑ takes back · Ctrl+C cancels")
		s.types("/pause")
		s.sees("  The conversation is paused; /unpause", "  ends that")
	})
}
