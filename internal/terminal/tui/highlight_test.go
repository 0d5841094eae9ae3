package tui_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

func TestHighlight(t *testing.T) {
	for _, c := range []struct{ language, source, want string }{
		{"go", "if x := \"a // b\"; n > 0x1F { // why", "k(if) x := s(\"a // b\"); n > n(0x1F) { c(// why)"},
		{"go", "s := `a\nb`\n/* c\nd */ 1.5", "s := s(`a\nb`)\nc(/* c\nd */) n(1.5)"},
		{"Rust", "fn f<'a>(x: &'a str) -> char { 'a' }", "k(fn) f<'a>(x: &'a k(str)) -> k(char) { 'a' }"},
		{"python", "def f(): # it's\n\treturn \"\"\"a\n\"b\" \"\"\"", "k(def) y(f)(): c(# it's)\n\tk(return) s(\"\"\"a\n\"b\" \"\"\")"},
		{"bash", "if [ $# -gt 1 ]; then echo \"a # b\" it#s; fi # end", "k(if) [ $# -gt n(1) ]; k(then) echo s(\"a # b\") it#s; k(fi) c(# end)"},
		{"sql", "SELECT id FROM t WHERE a = 'x''y' -- all", "k(SELECT) id k(FROM) t k(WHERE) a = s('x')s('y') c(-- all)"},
		{"json", `{"a": "b", "c-d": [1, true, null]}`, `{y("a"): s("b"), y("c-d"): [n(1), k(true), k(null)]}`},
		{"yaml", "max-wait: 8h # long\nurl: http://x", "y(max-wait): n(8h) c(# long)\ny(url): http://x"},
		{"toml", "name = 'x'", "y(name) = s('x')"},
		{"css", "a { color: red; /* x */ }", "a { y(color): red; c(/* x */) }"},
		{"html", `<!-- x --><a href="b">c</a-b>`, `c(<!-- x -->)y(<a) href=s("b")>cy(</a-b)>`},
		{"c", "unclosed \"string\nint x; /* to the end", "unclosed \"k(string)\nk(int) x; c(/* to the end)"},
		{"python", "é = 'ü'", "é = s('ü')"},
	} {
		if got := tui.Marked(c.source, c.language); got != c.want {
			t.Errorf("%s: %q\n got %q\nwant %q", c.language, c.source, got, c.want)
		}
	}
}

func TestHighlight_Diff(t *testing.T) {
	got := tui.Highlight("@@ -1 +1 @@\n-a\n+b\n c", "diff")
	if want := "\x1b[35m@@ -1 +1 @@\x1b[m\n\x1b[31m-a\x1b[m\n\x1b[32m+b\x1b[m\n c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHighlight_UnknownLanguageHasOneColor(t *testing.T) {
	if got, want := tui.Highlight("if a\nb", "brainfuck"), "\x1b[36mif a\x1b[m\n\x1b[36mb\x1b[m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Colors must neither change what code says nor make it slow to draw, whatever a model writes.
func FuzzHighlight_KeepsTheText(f *testing.F) {
	f.Add("if x { return `y` } // \xff", "go")
	f.Add("<a href='\n", "html")
	f.Add("\"\"\" ''' # /* -- <!--", "yaml")
	f.Fuzz(func(t *testing.T, source, language string) {
		source = strings.Map(printed, source)
		for _, language := range []string{language, "go", "python", "bash", "sql", "json", "css", "html", "diff"} {
			if plain := ansi.Strip(tui.Highlight(source, language)); plain != source {
				t.Fatalf("%s: %q became %q", language, source, plain)
			}
		}
	})
}

// printed leaves out what printable takes out of an answer before it is drawn.
func printed(r rune) rune {
	if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\uFFFD' {
		return -1
	}
	return r
}
