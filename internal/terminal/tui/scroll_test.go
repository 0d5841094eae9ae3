//go:build unix

package tui_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// A long answer streams while its end fills the screen and the view grows and shrinks: the scrollback holds what was
// printed, and nothing else.
func TestRun_ScrollbackIsExact(t *testing.T) {
	want := []string{"", "> hello", "", "▲ Server overloaded: HTTP 529: Overloaded", "✓ Recovered after 1 retry (waited 1s)", ""}
	var parts []llm.Part
	for i := range 20 { // few enough that none is missed
		var some strings.Builder
		for j := range 25 {
			n := 25*i + j
			fmt.Fprintf(&some, "word%04d is\n\n", n)
			want = append(want, fmt.Sprintf("word%04d is", n), "")
		}
		fmt.Fprintf(&some, "```\ncode %d\nmore\nand more\n```\n\n", i)
		want = append(want, fmt.Sprintf("  code %d", i), "  more", "  and more", "")
		parts = append(parts, llm.Text{Text: some.String()})
	}
	parts = append(parts, llm.Text{Text: "Zqx!"})
	want = append(want, "Zqx!", "$")
	w := startInTerminal(t, config(newService(t, llmtest.Fails(busy), llmtest.Parts(parts...))), false)
	w.shows("/help")
	w.types("hello\r")
	w.shows("Zqx!")
	w.shows("Zqx!\x1b[K\r\n") // it is printed
	w.types("/resume \x15")   // a menu opens and closes
	w.types("\x04")
	if err := w.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	_, _ = io.WriteString(w.tty, "$ ") // the shell's
	w.until(func() bool { return strings.HasSuffix(w.written(), "$ ") }, "$")
	got := shown(emulate(w.written(), 80, 24))
	for i := range got {
		got[i] = waitedFor.ReplaceAllString(got[i], "(waited 1s)") // how long it was is up to the machine
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("terminal and its scrollback (-want +got):\n%s", diff)
	}
}

var waitedFor = regexp.MustCompile(`\(waited \d+s\)`)

// shown returns the lines of a terminal without the blank ones at the end.
func shown(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// output is a terminal that takes everything.
type output struct{ bytes.Buffer }

func (*output) Close() error { return nil }
func (*output) Fd() uintptr  { return 0 }

// However the view changes between what is printed, and whatever bubbletea sends in between, the terminal shows what
// was printed and below it the view.
func TestScreen_PrintsAboveEachView(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var out output
		s := tui.NewScreen(&out)
		var printed, view []string
		var line int
		text := func(n int) (lines []string) {
			for range n {
				line++
				lines = append(lines, strings.TrimRight(fmt.Sprintf("%d %s", line, strings.Repeat("x", random.IntN(60))), " "))
			}
			return lines
		}
		_, _ = s.Write([]byte("\x1b[?2004h\x1b[J\x1b[?2026$p"))
		for range 60 {
			switch random.IntN(8) {
			case 0, 1, 2:
				more := text(1 + random.IntN(40))
				printed = append(printed, more...)
				s.Print(strings.Join(more, "\n"))
			case 3:
				_, _ = s.Write([]byte("\x1b]0;title\a\x1b[J"))
			case 4: // a line of the view changes
				if len(view) > 0 {
					view = slices.Clone(view)
					view[random.IntN(len(view))] = text(1)[0]
				}
			default:
				view = text(1 + random.IntN(16))
			}
			s.Draw(tea.View{Content: strings.Join(view, "\n"), Cursor: tea.NewCursor(random.IntN(60), random.IntN(max(1, len(view))))})
		}
		if diff := cmp.Diff(slices.Concat(printed, view), shown(emulate(out.String(), 80, 24))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		_, _ = s.Write([]byte("\x1b[?2004l")) // the terminal goes back
		if diff := cmp.Diff(printed, shown(emulate(out.String(), 80, 24))); diff != "" {
			t.Fatalf("seed %d, at the end (-want +got):\n%s", seed, diff)
		}
	}
}

// A terminal that becomes narrower has rewrapped the view, which may then begin in its first row.
func TestScreen_NarrowedLeavesNoCopy(t *testing.T) {
	var out output
	s := tui.NewScreen(&out)
	_, _ = s.Write([]byte("\x1b[?2004h"))
	cursor := tea.NewCursor(2, 2)
	s.Draw(tea.View{Content: strings.Repeat("x", 60) + "\n\n>\nkeys", Cursor: cursor})
	rewrapped := strings.Repeat("x", 60) + "\r\n\r\n>\r\nkeys\r\x1b[A\x1b[2C"
	out.Reset()
	s.Narrowed(40)
	s.Draw(tea.View{Content: "short\n\n>\nkeys", Cursor: cursor})
	if got := shown(emulate(rewrapped+out.String(), 40, 12)); !slices.Equal(got, []string{"short", "", ">", "keys"}) {
		t.Errorf("narrower terminal: got %q, want the view once", got)
	}
}

// The terminal is handed back for a while, such as to the shell by Ctrl+Z, and what is said meanwhile is drawn after
// that.
func TestScreen_DrawsNothingWhileItIsReturned(t *testing.T) {
	var out output
	s := tui.NewScreen(&out)
	_, _ = s.Write([]byte("\x1b[?2004h"))
	s.Draw(tea.View{Content: "one\ntwo", Cursor: tea.NewCursor(0, 1)})
	_, _ = s.Write([]byte("\x1b[?2004l"))
	_, _ = out.WriteString("$ fg\r\n")
	s.Print("printed")
	s.Draw(tea.View{Content: "three", Cursor: tea.NewCursor(0, 0)})
	if got := shown(emulate(out.String(), 80, 24)); !slices.Equal(got, []string{"$ fg"}) {
		t.Errorf("terminal of the shell: got %q, want its own line", got)
	}
	_, _ = s.Write([]byte("\x1b[?2004h"))
	if got := shown(emulate(out.String(), 80, 24)); !slices.Equal(got, []string{"$ fg", "printed", "three"}) {
		t.Errorf("terminal that is taken again: got %q, want what was printed and the view", got)
	}
}
