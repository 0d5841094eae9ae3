package service

import (
	"encoding/xml"
	"strings"
	"testing"
)

func TestRead_KnowsAFileAndItsChanges(t *testing.T) {
	d := Definition{Program: "/bin/x", Args: []string{"serve"}, User: `D\u`, Home: "/h"}
	want := Facts{Config: "/a b/--%41ü&>.yaml", Made: 2}
	for name, text := range map[string]string{"user": d.UserUnit(want), "system": d.SystemUnit(want), "agent": d.Agent(want), "task": d.Task(want)} {
		read := Text(UTF16(text))
		if got, unchanged := Read(read); got != want || !unchanged {
			t.Errorf("%s: got %+v, unchanged %t, want %+v and true", name, got, unchanged, want)
		}
		if strings.Count(text, "--") > strings.Count(text, "<!--")+strings.Count(text, "-->") && strings.HasPrefix(text, "<") {
			t.Errorf("%s: has -- in a comment:\n%s", name, text)
		}
		for _, changed := range []string{strings.Replace(read, "/bin/x", "/bin/y", 1), strings.Replace(read, "made=2", "made=3", 1), read + "\n"} {
			if _, unchanged := Read(changed); unchanged {
				t.Errorf("%s: a change is not noticed in\n%s", name, changed)
			}
		}
	}
	if got, unchanged := Read("[Unit]\n"); got != (Facts{}) || unchanged {
		t.Errorf("a file of another hand: got %+v and unchanged %t, want nothing", got, unchanged)
	}
}

func TestQuoting_IsThatOfEachFormat(t *testing.T) {
	for _, c := range []struct{ word, unit, windows string }{
		{"serve", "serve", "serve"},
		{"", `""`, `""`},
		{"a b", `"a b"`, `"a b"`},
		{"100%", "100%%", "100%"},
		{`C:\a b\`, `"C:\\a b\\"`, `"C:\a b\\"`},
		{`C:\a\`, `"C:\\a\\"`, `C:\a\`},
		{`say "x\"`, `"say \"x\\\""`, `"say \"x\\\""`},
		{"ü;", `"ü;"`, "ü;"},
	} {
		if got := quoteUnit(c.word); got != c.unit {
			t.Errorf("%q in a unit: got %s, want %s", c.word, got, c.unit)
		}
		if got := quoteWindows(c.word); got != c.windows {
			t.Errorf("%q on Windows: got %s, want %s", c.word, got, c.windows)
		}
	}
}

func TestQuoteXML_IsThatOfTheStandardLibrary(t *testing.T) {
	for _, text := range []string{"", "/usr/bin/x", "a & b <c> \"d\" 'e'", "tab\t line\n return\r", "nul\x00 bell\a", "broken \xff", "\ufffe \uffff \U0001f600 ü"} {
		var want strings.Builder
		if err := xml.EscapeText(&want, []byte(text)); err != nil {
			t.Fatalf("escape %q: %v", text, err)
		}
		if got := quoteXML(text); got != want.String() {
			t.Errorf("quoteXML(%q): got %q, want %q", text, got, want.String())
		}
	}
}
