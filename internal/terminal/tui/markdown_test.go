package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

func TestRender_DocumentAtEveryWidth(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "rich.md"))
	if err != nil {
		t.Fatalf("read document: %v", err)
	}
	for _, width := range []int{80, 40, 20} {
		compare(t, fmt.Sprintf("rich_%d", width), strings.Join(tui.Render(string(text), width, false), "\n")+"\n")
	}
	compare(t, "rich_colors", visible.Replace(strings.Join(tui.Render(string(text), 80, true), "\n")+"\n"))
}

// visible replaces the escape sequences of styles by tags.
var visible = strings.NewReplacer("\x1b[1m", "<b>", "\x1b[3m", "<i>", "\x1b[1;3m", "<bi>", "\x1b[9m", "<s>", "\x1b[2m", "<f>",
	"\x1b[36m", "<c>", "\x1b[1;36m", "<bc>", "\x1b[32m", "<green>", "\x1b[35m", "<magenta>", "\x1b[33m", "<amber>", "\x1b[1;9m", "<bs>", "\x1b[m", "</>")

func TestRender_FollowsCommonMark(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"**a *b* c**", "<b>a </><bi>b</><b> c</>"},
		{"*a **b***", "<i>a </><bi>b</>"},
		{"***a***", "<bi>a</>"},
		{"**bold `code` on**", "<b>bold </><bc>code</><b> on</>"},
		{"# a `b`", "<b># </><b>a </><bc>b</>"},
		{"snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"},
		{"**open and * alone", "**open and * alone"},
		{"~~a~~ but ~~~ and ~1", "<s>a</> but ~~~ and ~1"},
		{"**~~a~~**", "<bs>a</>"},
		{"`` a`b `` and `open", "<c>a`b</> and `open"},
		{"`*no*` \\*no\\* \\q", "<c>*no*</> *no* \\q"},
		{"&lt;b&gt; &#42;no&#42; &nothing;", "<b> *no* &nothing;"},
		{"[a *b*](/x \"t\") ![c](</y>) [d] (e)", "a <i>b</> (/x) image: c (/y) [d] (e)"},
		{"[https://a.b](https://a.b) [x](a(b)c) [y](a b)", "https://a.b x (a(b)c) [y](a b)"},
		{"**https://a.b/c*d*e** <https://a.b> <i>*x*</i>", "<b>https://a.b/c*d*e</> https://a.b <i><i>x</></i>"},
		{"a  \nb\\\nc\nd", "a\nb\nc d"},
		{"a\n==\n\nb\nc\n---", "<b># </><b>a</>\n\n<b>## </><b>b c</>"},
		{"####### no\n#no\n# yes ##", "####### no #no\n<b># </><b>yes</>"},
		{"in the year\n1986. And\n- so", "in the year 1986. And\n• so"},
		{"7. a\n8. b", "7. a\n8. b"},
		{"- a\n\n  b\nlazy\n\n      code\n- c", "• a\n\n  b lazy\n\n    <c>code</>\n• c"},
		{"- ```\n  x\n\n  y\n  ```\n  z", "•   <c>x</>\n\n    <c>y</>\n  z"},
		{"> a\n> - b\nlazy\n\nc", "│ a\n│ • b lazy\n\nc"},
		{"> ```\n> a\nb", "│   <c>a</>\nb"},
		{"```\n<b> *x* \\*\n\t&lt;", "  <c><b> *x* \\*</>\n  <c>    &lt;</>"},
		{"~~~~\n~~~\n~~~~\na", "  <c>~~~</>\n\na"},
		{"<div>\n*x*\n</div>\n\n*y*", "<div>\n*x*\n</div>\n\n<i>y</>"},
		{"| a | b |\n|:-:|--:|\n| `x\\|y` | 10 |\n| 1 |", " <b>a</> <f> │ </> <b>b</>\n<f>────┼───</>\n<c>x|y</><f> │ </>10\n 1 <f> │ </>"},
		{"a | b\n-|", "<b>a</><f> │ </><b>b</>\n<f>──┼──</>"},
		{"a | b\n\nc", "a | b\n\nc"},
		{"a | b\n--|--\nc | d | e", "<b>a</><f> │ </><b>b</>\n<f>──┼──────</>\nc<f> │ </>d | e"},
		{"- a\n-", "• a\n•"},
		{"```go\nx := 1 // one\n```", "  x := <amber>1</> <f>// one</>"},
		{"```diff\n-a\n+b", "  \x1b[31m-a</>\n  <green>+b</>"},
		{"    ```\n    a\n    ```\n\nb", "  <c>a</>\n\nb"},
		{"* * *\n- - -\n-----", "<f>────────</>\n<f>────────</>\n<f>────────</>"},
	} {
		if diff := cmp.Diff(tt.want, visible.Replace(strings.Join(tui.Render(tt.text, 60, true), "\n"))); diff != "" {
			t.Errorf("Render(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

// Code keeps its characters in every language, whatever it is; what one lexer uses of another is there.
func TestRender_ColorsCodeOfEveryLanguage(t *testing.T) {
	code := []string{
		"# x", "// y", "/* z */", `if a == "b" { return 'c' + d }`, `<p class="e">&amp;</p><script>let x = 1</script><style>p{}</style>`,
		`FROM x`, `RUN ["ls"]`, "$ ls | x", "> y", "@@ -1 +1 @@", "+a",
	}
	names := append(tui.Languages(), strings.Fields("go golang py ts tsx jsx sh shell console yml rs cpp dockerfile make")...)
	for _, name := range names {
		lines := tui.Render("```"+strings.ReplaceAll(name, " ", "-")+"\n"+strings.Join(code, "\n"), 200, true)
		var got []string
		for _, line := range lines {
			got = append(got, strings.TrimPrefix(colors.ReplaceAllString(line, ""), "  "))
		}
		if diff := cmp.Diff(code, got); diff != "" {
			t.Errorf("code in %s (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range map[string]string{"go": "\x1b[33m1", "json": "\x1b[33m1", "sh": "\x1b[32m\"a\"", "tsx": "\x1b[32m\"a\"", "YAML": "\x1b[32m\"a\""} {
		if got := strings.Join(tui.Render("```"+name+"\na: 1, \"a\"", 80, true), "\n"); !strings.Contains(got, want) {
			t.Errorf("code in %s: got %q, want %q in it", name, got, want)
		}
	}
}

func TestRender_WithoutColorsKeepsTheMarks(t *testing.T) {
	const text = "**a** *b* ``c`d`` ~~e~~"
	if diff := cmp.Diff([]string{text}, tui.Render(text, 60, false)); diff != "" {
		t.Errorf("Render without colors (-want +got):\n%s", diff)
	}
}

func TestStream_CutsLongBlocks(t *testing.T) {
	row := "| cell | " + strings.Repeat("word ", 20) + "|\n"
	for _, tt := range []struct{ name, text, begins string }{
		{"a line of code without end", "```js\n" + strings.Repeat("x", 9000), "```js\nx"},
		{"a fence with more words than code", "```" + strings.Repeat("a", 9000), "```\na"},
		{"more fence than code", strings.Repeat("`", 9000) + "\n", "`"},
		{"an indented fence", "- a\n  ```go\n" + strings.Repeat("  x := 1\n", 100), "  ```go\n  x"},
		{"a table", "| a | b |\n|--|--|\n" + strings.Repeat(row, 80), "| a | b |\n|--|--|\n| cell"},
		{"a list", "- a\n" + strings.Repeat("  - b\n  - c\n- d\n", 400), "- d"},
	} {
		texts, glued := tui.Blocks(tt.text)
		if len(texts) < 2 || len(texts) > 9 {
			t.Errorf("Blocks of %s: got %d blocks, want 2 to 9", tt.name, len(texts))
			continue
		}
		for i, text := range texts[1:] {
			if !glued[i+1] || !strings.HasPrefix(text, tt.begins) {
				t.Errorf("Blocks of %s: got a block that starts with %.40q, want %q", tt.name, text, tt.begins)
			}
		}
	}
}

// document draws a document of parts that are easily cut in the wrong place.
func document(t *rapid.T) string {
	part := rapid.OneOf(rapid.SampledFrom([]string{
		"\n", "\n\n", "# a\n", "words **bold *both* ** `code` ", "- item\n", "  - deeper\n", "1. one\n\n   more\n", "> quoted\n", "> ```\n",
		"```go\n", "```\n", "  ~~~\n", "    code\n", "\tcode\n", "| a | b |\n|--|:-:|\n", "| 1 | 漢字 |\n", "<div>\n", "[a](b) ", "![", "](", "\\", "&lt;", "---\n",
		"👩‍👩‍👧", "漢字かな", "\r\n", "\x1b[2J", strings.Repeat("long ", 900), strings.Repeat("漢", 1500), strings.Repeat("code\n", 45),
		strings.Repeat("| 1 | 2 | 3 |\n", 320), strings.Repeat("`", 5), strings.Repeat("*_", 50),
	}), rapid.StringN(0, 8, -1))
	return strings.Join(rapid.SliceOfN(part, 1, 30).Draw(t, "parts"), "")
}

func TestStream_BlocksDoNotDependOnThePieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		whole, glued := tui.Blocks(text)
		most := rapid.IntRange(1, 5000).Draw(t, "most")
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(most, len(rest))).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
			if len(pieces) > 500 {
				most = 5000
			}
		}
		got, gotGlued := tui.Blocks(pieces...)
		if !slices.Equal(whole, got) || !slices.Equal(glued, gotGlued) {
			t.Errorf("Blocks in pieces (-whole +pieces):\n%s", cmp.Diff(whole, got))
		}
		if bytewise, _ := tui.Blocks(strings.Split(text, "")...); !slices.Equal(whole, bytewise) {
			t.Errorf("Blocks by character (-whole +characters):\n%s", cmp.Diff(whole, bytewise))
		}
	})
}

func TestRender_LinesFitTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// lipgloss wraps a letter with a variation selector, which is in no script, as if it had one column.
		text, width := strings.ReplaceAll(document(t), "\ufe0f", ""), rapid.IntRange(1, 120).Draw(t, "width")
		for _, line := range tui.Render(text, width, rapid.Bool().Draw(t, "color")) {
			if got := lipgloss.Width(line); got >= max(3, width) {
				t.Errorf("Render(%q) at width %d: got %q of %d columns", text, width, line, got)
			}
		}
	})
}

func TestRender_LosesNoWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		var text strings.Builder
		for i := range rapid.IntRange(1, 40).Draw(t, "words") {
			word := fmt.Sprintf("w%dx", i)
			words = append(words, word)
			text.WriteString(rapid.SampledFrom([]string{
				"", "\n", "\n\n", "- ", "\n- ", "\n  - ", "\n1. ", "> ", "\n> ", "**", "*", "`", "~~", "[", "](", ") ", "![", "<", ">", "\n```\n",
				"|", " | ", "\n|--|--|\n", "\n# ", "\n---\n", "    ", "\t", "\\", "&", ";",
			}).Draw(t, "mark") + word)
		}
		width := rapid.IntRange(60, 100).Draw(t, "width")
		render := func(width int) string { return strings.Join(tui.Render(text.String(), width, false), "") }
		got, unbroken, all := render(width), render(1000), strings.Join(words, "")
		long := func(run string) bool { return len(run) > 40 }
		breaks := strings.Contains(got, "─┼─") || slices.ContainsFunc(strings.Fields(text.String()), long) // where a line or a cell is full
		for _, word := range words {
			if !strings.Contains(unbroken, word) || !breaks && !strings.Contains(got, word) {
				t.Fatalf("Render(%q): got %q, and %q in a wide terminal; want %s in it", text.String(), got, unbroken, word)
			}
		}
		for _, letter := range strings.Split(all, "") {
			if strings.Count(got, letter) < strings.Count(all, letter) {
				t.Fatalf("Render(%q): got %q, want each %s in it", text.String(), got, letter)
			}
		}
	})
}

// A letter with a variation selector is as wide where a line is broken as where it is measured.
func TestRender_VariationSelectorsFitTheWidth(t *testing.T) {
	signs := []string{"⚠️", "❤️", "1️⃣", "a\ufe0f", "👍🏽", "日"}
	for width := 12; width < 60; width++ {
		for i := range signs {
			text := strings.Repeat(strings.Join(slices.Concat(signs[i:], signs[:i]), "x")+" ", 20)
			lines := slices.Concat(tui.Render(text, width, true), tui.WrapLine(text, width), []string{tui.TruncateLine(text, width)},
				tui.Render("| "+text[:80]+" | b |\n|---|--:|\n| c | "+text[:100]+" |", width, false))
			for _, line := range lines {
				if got := lipgloss.Width(line); got >= width {
					t.Fatalf("line of %d columns: got %d: %q", width, got, line)
				}
			}
		}
	}
}
