package arch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManual_CodeOfOtherLanguagesParses checks the syntax of Python, JavaScript and shell in the README and the
// manual with their own programs, where these are installed.
func TestManual_CodeOfOtherLanguagesParses(t *testing.T) {
	pages := []string{"../../README.md"}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(more) == 0 {
		t.Fatalf("list pages: got %q, error %v", more, err)
	}
	for _, language := range []struct {
		name, file string
		check      []string
		least      int // blocks in the pages
	}{
		{"python", "block.py", []string{"python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"}, 1},
		{"js", "block.mjs", []string{"node", "--check"}, 1},
		{"sh", "block.sh", []string{"bash", "-n"}, 10},
	} {
		t.Run(language.name, func(t *testing.T) {
			if _, err := exec.LookPath(language.check[0]); err != nil {
				t.Skipf("%s is not installed: %v", language.check[0], err)
			}
			found := 0
			for _, page := range append(pages, more...) {
				text, err := os.ReadFile(page)
				if err != nil {
					t.Fatalf("read page: %v", err)
				}
				for _, part := range strings.Split(string(text), "```"+language.name+"\n")[1:] {
					found++
					block, _, _ := strings.Cut(part, "\n```")
					file := filepath.Join(t.TempDir(), language.file)
					if err := os.WriteFile(file, []byte(block+"\n"), 0o600); err != nil {
						t.Fatalf("write block: %v", err)
					}
					if out, err := exec.Command(language.check[0], append(language.check[1:], file)...).CombinedOutput(); err != nil {
						t.Errorf("%s: %v: %s\nin\n%s", page, err, out, block)
					}
				}
			}
			if found < language.least {
				t.Errorf("found %d blocks in the pages, want at least %d", found, language.least)
			}
		})
	}
}
