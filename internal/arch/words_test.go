package arch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// banned are words that the project does not use, on one line so that this file is one exception: who-clauses
// without a subject, private words that once stood for a public one, and doc comments in another form than Go's.
var banned = regexp.MustCompile(`(?i)\b(tells whether|whoever|somebody|nobody|under way|standing orders|errand|overhear|earful|deafen|takeOff|touchDown|aboard|heir|scouts?|stray|straggler|who waits|goes on with|gone on with|is let|what it is made of)\b|(?-i:^\s*// [A-Za-z]+ gives )|\bDoze\b`)

// TestWords_PrivateAndIndirectOnesAreGone looks at everything people read: code, comments, help, pages and docs. The
// changelog and recorded data keep their words.
func TestWords_PrivateAndIndirectOnesAreGone(t *testing.T) {
	for _, name := range tracked(t) {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		for n, line := range strings.Split(strings.ReplaceAll(string(text), "http.NoBody", ""), "\n") {
			if found := banned.FindString(line); found != "" {
				t.Errorf("%s:%d: %q; see docs/glossary.md and CONTRIBUTING.md for the word to use", name, n+1, strings.TrimSpace(found))
			}
		}
	}
}

// TestWords_RuleCatchesThem shows that the rule above can fail.
func TestWords_RuleCatchesThem(t *testing.T) {
	for _, line := range []string{"// Find gives the first.", "\t// asks whoever is there", "It tells whether it is open.", "a Scout goes first"} {
		if !banned.MatchString(line) {
			t.Errorf("%q: got no match, want one", line)
		}
	}
	for _, line := range []string{"// Find returns the first.", "strategies", "outstanding orders", "heirloom"} {
		if found := banned.FindString(line); found != "" {
			t.Errorf("%q: got a match for %q, want none", line, found)
		}
	}
}

// tracked lists the files whose words are checked. Without git, as in a downloaded module, the test skips.
func tracked(t *testing.T) (names []string) {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.go", "*.md", "*.ts", "*.tsx", "*.mjs", "*.yaml", "*.txtar", "scripts/*").Output()
	if err != nil {
		t.Skipf("list files with git: %v", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		data := strings.Contains(name, "/testdata/") && !strings.HasSuffix(name, ".txtar")
		if name != "CHANGELOG.md" && name != "internal/arch/words_test.go" && !data && !strings.Contains(name, "/dist/") {
			names = append(names, name)
		}
	}
	return names
}
