package tui_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

func TestStream_CutsAnAnswerIntoBlocks(t *testing.T) {
	code := strings.Repeat("x := 1\n", 50)
	for _, tt := range []struct {
		name, text string
		want       []string
		glued      []bool
	}{
		{"paragraphs", "one\ntwo\n\nthree", []string{"one\ntwo\n\n", "three"}, []bool{false, false}},
		{"a list with paragraphs", "- a\n\n  b\n\nc", []string{"- a\n\n  b\n\n", "c"}, []bool{false, false}},
		{"blank lines in code", "```\na\n\nb\n```\n\nc", []string{"```\na\n\nb\n```\n\n", "c"}, []bool{false, false}},
		{"a fence in a longer one", "````\n```\n\nx\n````\n\nc", []string{"````\n```\n\nx\n````\n\n", "c"}, []bool{false, false}},
		{"long code", "```go\n" + code + "```\n", []string{
			"```go\n" + strings.Repeat("x := 1\n", 40) + "```\n", "```go\n" + strings.Repeat("x := 1\n", 10) + "```\n",
		}, []bool{false, true}},
	} {
		for step := 1; step < 8; step += 3 {
			var pieces []string
			for rest := tt.text; rest != ""; {
				n := min(step, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			got, glued := tui.Blocks(pieces...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Blocks of %s by %d bytes (-want +got):\n%s", tt.name, step, diff)
			}
			if diff := cmp.Diff(tt.glued, glued); diff != "" {
				t.Errorf("Blocks of %s by %d bytes, continuations (-want +got):\n%s", tt.name, step, diff)
			}
		}
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add("one\n\n```go\nx\n\ny\n```\n\n- a\n\n  b\n", 3)
	f.Add(strings.Repeat("ä", 5000), 11)
	f.Add(strings.Repeat("word ", 2000), 1000)
	f.Add("- ```go\n"+strings.Repeat("x", 5000)+"\n```\n|a|\n|-|\n"+strings.Repeat("|b|\n", 2000), 100)
	f.Fuzz(func(t *testing.T, text string, step int) {
		if step < 1 || len(text) > 1000*step || !utf8.ValidString(text) { // or few texts are tried
			t.Skip()
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := min(step, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got, _ := tui.Blocks(pieces...)
		if whole, _ := tui.Blocks(text); !slices.Equal(got, whole) {
			t.Errorf("Blocks(%q): got %q in pieces, want %q as a whole", text, got, whole)
		}
		if joined := strings.Join(got, ""); !strings.ContainsAny(text, "`~|") && strings.TrimSpace(joined) != strings.TrimSpace(text) {
			t.Errorf("Blocks(%q): got %q, want the same text", text, joined)
		}
	})
}

func TestStream_ReconcilesMissedText(t *testing.T) {
	for _, c := range []struct {
		whole   string
		heard   []string
		printed string
		missed  bool
	}{
		{"one\n\ntwo\n\nthree", []string{"one\n", "\ntwo\n\nthree"}, "one\n\ntwo\n\nthree", false},
		{"one\n\ntwo", nil, "one\n\ntwo", false},
		{"one\n\ntwo three", []string{"one\n\ntw"}, "one\n\ntwo three", false},
		{"one\n\ntwo three four", []string{"one\n\ntwo ", "four"}, "one\n\ntwo three four", false},
		{"one\n\ntwo\n\nthree", []string{"one\n\n", "three"}, "one\n\ntwo\n\nthree", false},
		{"one\n\ntwo\n\nthree\n\nfour", []string{"one\n\n", "three\n\n", "four"}, "one\n\nthree\n\ntwo\n\nthree\n\nfour", true},
		{"one\n\ntwo", []string{"e\n\n", "two"}, "e\n\none\n\ntwo", true},
		{"```\na\nb\n```\n\nc", []string{"```\na\n```\n\n", "c"}, "```\na\n```\n\n```\nb\n```\n\nc", true},
	} {
		if printed, missed := tui.Reconciled(c.whole, c.heard...); printed != c.printed || missed != c.missed {
			t.Errorf("%q after %q: got %q, missed %v, want %q, %v", c.whole, c.heard, printed, missed, c.printed, c.missed)
		}
	}
}

func TestRender_MatchesTheGoldenFile(t *testing.T) {
	const text = "# Title\n\nSome **bold**, *slanted* and `code`, <b>tags</b>, [a link](https://example.com/x) and 漢字 that are wide.\n\n" +
		"1. one\n2. two\n   - deep\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() { println(\"<x>\") }\n```\n\n---\n\n- [x] done\n- [ ] open\n"
	got := strings.Join(tui.Render(text, 60, false), "\n") + "\n"
	compare(t, "markdown", got)
	for _, line := range tui.Render(text, 40, true) {
		if plain := colors.ReplaceAllString(line, ""); strings.Contains(plain, "\x1b") {
			t.Errorf("Render: got control characters in %q", line)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("# a\n\n|a|b|\n|-|-|\n|1\x1b[2J|\n\n> q\n1. **b** &#27;[31m\n```\n\u009b\n", 20)
	f.Add("| a |\n|---|\n||||\n-\n\\", 1)
	f.Add("> - ***a* [b](c)**\n1. ~~d~~ `` e`f `` ![g](h) <i> https://x.y\n---\n\n\tcode\n", 12)
	f.Fuzz(func(t *testing.T, text string, width int) {
		for _, line := range tui.Render(text, width%500, true) {
			if plain := colors.ReplaceAllString(line, ""); strings.ContainsFunc(plain, unicode.IsControl) {
				t.Errorf("Render(%q): got control characters in %q", text, line)
			}
		}
	})
}

func TestPrompts_AreSharedPrivateAndBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "prompts")
	a, b := tui.Prompts(file), tui.Prompts(file)
	a.Add("one\nof two lines")
	b.Add("two")
	a.Add("one\nof two lines")
	a.Add(strings.Repeat("x", 20<<10)) // not for typing again
	if diff := cmp.Diff([]string{"one\nof two lines", "two", "one\nof two lines"}, tui.Prompts(file).All()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history file: got %v, %v, want mode 0600", info.Mode(), err)
	}
	for i := range 2500 {
		a.Add(fmt.Sprint(i))
	}
	all := tui.Prompts(file).All()
	if len(all) != 1000 || all[999] != "2499" {
		t.Errorf("prompts: got %d, the last %q, want 1000, \"2499\"", len(all), all[len(all)-1])
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Count(text, []byte("\n")) != 1000 {
		t.Errorf("history file: got %d lines, %v, want 1000", bytes.Count(text, []byte("\n")), err)
	}
	if err := os.WriteFile(file, []byte("no JSON\n\"yes\"\n"), 0o600); err != nil {
		t.Fatalf("damage history: %v", err)
	}
	if diff := cmp.Diff([]string{"yes"}, tui.Prompts(file).All()); diff != "" {
		t.Errorf("prompts of a damaged file (-want +got):\n%s", diff)
	}
}

func TestNotify_SequenceFitsTheTerminal(t *testing.T) {
	all := tui.Notify{Desktop: true, Bell: true}
	for _, tt := range []struct {
		env  []string
		n    tui.Notify
		want string
	}{
		{[]string{"TERM_PROGRAM", "WezTerm"}, all, "\x1b]9;a, b\x1b\\"},
		{[]string{"TERM", "xterm-kitty"}, all, "\x1b]99;;a, b\x1b\\"},
		{[]string{"TERM", "foot"}, all, "\x1b]777;notify;ridethrough;a, b\x1b\\"},
		{[]string{"TERM", "xterm-256color"}, all, "\a"},
		{[]string{"TERM", "xterm-kitty", "TMUX", "x"}, all, "\a"},
		{[]string{"TERM", "xterm-kitty"}, tui.Notify{Bell: true}, "\a"},
		{[]string{"TERM", "xterm-256color"}, tui.Notify{Desktop: true}, ""},
		{nil, tui.Notify{}, ""},
	} {
		if got := tui.NotifySequence(tt.n, terminalEnv(tt.env...), "a; b"); got != tt.want {
			t.Errorf("sequence of %+v with %v: got %q, want %q", tt.n, tt.env, got, tt.want)
		}
	}
	if tui.SupportsProgress(terminalEnv("TERM_PROGRAM", "iTerm.app")) || !tui.SupportsProgress(terminalEnv("WT_SESSION", "x")) {
		t.Error("supportsProgress: got iTerm.app or not Windows Terminal, want the reverse")
	}
}

func TestInteractive_NeedsTerminals(t *testing.T) {
	if tui.Interactive(strings.NewReader(""), &bytes.Buffer{}, terminalEnv("TERM", "xterm")) {
		t.Error("Interactive without terminals: got true, want false")
	}
}

// BenchmarkDelta adds a word to an answer: the cost does not grow with the length of
// the answer.
func BenchmarkDelta(b *testing.B) {
	for _, before := range []int{0, 100 << 10} {
		b.Run(fmt.Sprintf("after %d KiB", before>>10), func(b *testing.B) {
			b.ReportAllocs()
			s := tui.NewStream(80)
			for i := 0; i < before; i += len(paragraph) {
				s.Add(paragraph)
			}
			n := 0
			for b.Loop() {
				s.Add("word ")
				if n++; n%60 == 0 {
					s.Add("\n\n")
				}
			}
		})
	}
}

const paragraph = "Some words that a model says, and `code` among them, up to the end of a paragraph of the usual length.\n\n"
