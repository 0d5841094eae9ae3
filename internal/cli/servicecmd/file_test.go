package servicecmd

import (
	"strings"
	"testing"
)

func TestUnseal_KnowsAFileAndItsChanges(t *testing.T) {
	const want = "/a b/--%41ü&>.yaml"
	for name := range hosts {
		read := fromUTF16(toUTF16(sealed(planOf(t, name).text, want)))
		if got, unchanged := unseal(read); got != want || !unchanged {
			t.Errorf("%s: got %q, unchanged %t, want %q and true", name, got, unchanged, want)
		}
		if _, comment, ok := strings.Cut(read, "<!--"); ok {
			if comment, _, _ = strings.Cut(comment, "-->"); strings.Contains(comment, "--") {
				t.Errorf("%s: has -- in the comment %q", name, comment)
			}
		}
		for _, changed := range []string{strings.Replace(read, "serve", "server", 1), strings.Replace(read, "config=/a", "config=/b", 1), read + "\n"} {
			if _, unchanged := unseal(changed); unchanged {
				t.Errorf("%s: a change is not noticed in\n%s", name, changed)
			}
		}
	}
	if got, unchanged := unseal("[Unit]\n"); got != "" || unchanged {
		t.Errorf("a file of another hand: got %q and unchanged %t, want nothing", got, unchanged)
	}
}

func TestExecStart_QuotesAsSystemdReads(t *testing.T) {
	for word, want := range map[string]string{
		"serve":      "serve",
		"a b":        `"a b"`,
		"100%":       "100%%",
		"$HOME":      "$$HOME",
		`C:\a b\`:    `"C:\\a b\\"`,
		`say "x\"`:   `"say \"x\\\""`,
		"ü;":         `"ü;"`,
		"two\nlines": `"two\nlines"`,
	} {
		if got := execStart([]string{"/bin/x", word}); got != "/bin/x "+want {
			t.Errorf("%q: got %s, want /bin/x %s", word, got, want)
		}
	}
	if got := execStart([]string{"/opt/$x"}); got != "/opt/$x" {
		t.Errorf("a program's path: got %s, want it as it is", got)
	}
}
