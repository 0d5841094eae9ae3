//go:build unix

package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// Lines are printed above the view while the end of the answer fills the screen:
// the scrollback holds each line of the answer once.
func TestRun_ScrollbackHoldsEachLineOnce(t *testing.T) {
	for what, apart := range map[string]string{"paragraphs": "\n\n", "a list": "\n", "one paragraph": " "} {
		t.Run(what, func(t *testing.T) {
			var wrong string
			for range 3 { // a machine that is overloaded may leave a copy of what was live, see docs/rough-edges.md
				if wrong = scrollbackError(t, apart); wrong == "" {
					return
				}
			}
			t.Errorf("scrollback: %s", wrong)
		})
	}
}

// scrollbackError streams a thousand lines and returns what is wrong with the
// scrollback; "" for nothing.
func scrollbackError(t *testing.T, apart string) string {
	t.Helper()
	var parts []llm.Part
	for i := range 20 { // few enough that none is missed
		var some strings.Builder
		for j := range 50 {
			fmt.Fprintf(&some, "- word%04d is%s", 50*i+j, apart)
		}
		parts = append(parts, llm.Text{Text: some.String()})
	}
	parts = append(parts, llm.Text{Text: "\n\nZqx!"})
	w := startInTerminal(t, config(newService(t, llmtest.Parts(parts...))), false)
	w.shows("/help")
	w.types("hello\r")
	w.shows("Zqx!")
	w.types("\x04")
	if err := w.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	lines := emulate(w.written(), 80, 24)
	all := strings.Join(lines, " ")
	for i := range 1000 {
		if n := strings.Count(all, fmt.Sprintf("word%04d", i)); n != 1 {
			return fmt.Sprintf("word%04d is there %d times:\n%s", i, n, strings.Join(lines, "\n"))
		}
	}
	return ""
}
