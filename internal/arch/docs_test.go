package arch_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestDocs_GoCodeIsCompiled checks that every Go block of the README and the manual is, line for line,
// part of a test file, which the compiler and the tests see.
func TestDocs_GoCodeIsCompiled(t *testing.T) {
	compiled := testSources(t)
	for _, page := range pages(t) {
		for _, block := range goBlocks(page.text) {
			if !strings.Contains(compiled, squeeze(block)) {
				t.Errorf("%s: this Go code is in no test file:\n%s", page.name, block)
			}
		}
	}
}

// TestDocs_LinksLeadSomewhere checks that every relative link of a page names a file of the repository, and a
// heading in it where it has an anchor.
func TestDocs_LinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, link := range links(page.text) {
			target, anchor, _ := strings.Cut(link, "#")
			if strings.Contains(target, "://") {
				continue
			}
			name := page.name
			if target != "" {
				name = filepath.Join(filepath.Dir(page.name), target)
			}
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s: link to %s: %v", page.name, link, err)
				continue
			}
			if strings.HasSuffix(name, ".md") && anchor != "" && !slices.Contains(anchors(t, name), anchor) {
				t.Errorf("%s: link to %s: no such heading", page.name, link)
			}
		}
	}
}

// anchors returns what GitHub makes of a page's headings.
func anchors(t *testing.T, name string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read page: %v", err)
	}
	code := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if title, heading := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); heading && strings.HasPrefix(line, "#") && !code {
			all = append(all, anchor(strings.TrimSpace(title)))
		}
	}
	return all
}

// anchor returns the anchor of a heading: lower case, blanks as hyphens, no other punctuation.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// TestDocs_LinesFitTheScreen checks that prose is at most 110 columns wide. Tables, code and links may be wider.
func TestDocs_LinesFitTheScreen(t *testing.T) {
	for _, page := range pages(t) {
		code := false
		for n, line := range strings.Split(page.text, "\n") {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			wide := len([]rune(line)) > 110
			if wide && !code && !strings.HasPrefix(line, "|") && !strings.Contains(line, "](") {
				t.Errorf("%s:%d: %d columns, want at most 110", page.name, n+1, len([]rune(line)))
			}
		}
	}
}

// page is one Markdown file, by its path from here.
type page struct{ name, text string }

func pages(t *testing.T) (all []page) {
	t.Helper()
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md", "../../bench/*.md", "../../faultbench/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("list %s: got %d files, error %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("read page: %v", err)
			}
			if !strings.HasSuffix(name, "CHANGELOG.md") { // history keeps its words
				all = append(all, page{name, string(text)})
			}
		}
	}
	return all
}

// goBlocks returns the fenced Go code of a page.
func goBlocks(text string) (blocks []string) {
	for _, part := range strings.Split(text, "\n```go\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block)
	}
	return blocks
}

// links returns the targets of a page's links, code left out.
func links(text string) (all []string) {
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			continue
		}
		for _, after := range strings.Split(part, "](")[1:] {
			target, _, _ := strings.Cut(after, ")")
			all = append(all, target)
		}
	}
	return all
}

// testSources returns all test files of the module, squeezed.
func testSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		all.WriteString(squeeze(string(text)))
		all.WriteString("\n")
		return err
	})
	if err != nil {
		t.Fatalf("read test files: %v", err)
	}
	return all.String()
}

// squeeze drops the indentation of each line and the alignment within it, so that gofmt's columns do not matter.
func squeeze(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// TestDecisions_AreFewShortAndListed checks that the decision records have the numbers from 1 on without holes, are
// all in the list, and are few and short enough to be read.
func TestDecisions_AreFewShortAndListed(t *testing.T) {
	const most, mostWords = 45, 450
	index, err := os.ReadFile("../../docs/adr/0001-record-decisions.md")
	if err != nil {
		t.Fatalf("the list of decisions: %v", err)
	}
	files, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil || len(files) < 2 || len(files) > most {
		t.Fatalf("decisions: %d files, %v, want 2 to %d", len(files), err, most)
	}
	for i, f := range files {
		name := filepath.Base(f)
		if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s is decision number %d, want a name that begins with %s", name, i+1, want)
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatalf("read decision: %v", err)
		}
		if want := fmt.Sprintf("# %d. ", i+1); !strings.HasPrefix(string(text), want) {
			t.Errorf("%s has another title than its name, want %q", name, want)
		}
		if n := len(strings.Fields(string(text))); n > mostWords {
			t.Errorf("%s has %d words, want at most %d", name, n, mostWords)
		}
		if i > 0 && !strings.Contains(string(index), fmt.Sprintf("\n%d. [", i+1)) || i > 0 && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("%s is not in the list of docs/adr/0001-record-decisions.md by its number", name)
		}
	}
}

// The screens of docs/chat.md are those of the program, which scripts/screens writes. Times, numbers and ids may differ.
func TestDocs_WaitingShowsTheProgramsScreens(t *testing.T) {
	changing := regexp.MustCompile(`[0-9]+-[0-9]+-[a-z0-9]{10}|[0-9]+`)
	screens := ""
	names, err := filepath.Glob("../../docs/screens/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("list screens: got %d, error %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("read screen: %v", err)
		}
		screens += "\n" + changing.ReplaceAllString(string(text), "N")
	}
	text, err := os.ReadFile("../../docs/chat.md")
	if err != nil {
		t.Fatalf("read page: %v", err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What you see while it waits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	points := strings.Split(section, "\n### ")[1:]
	if len(points) != 11 {
		t.Errorf("docs/chat.md: got %d points of good waiting, want eleven", len(points))
	}
	for i, point := range points {
		_, block, found := strings.Cut(point, "\n```\n")
		block, _, _ = strings.Cut(block, "```")
		if !strings.HasPrefix(point, strconv.Itoa(i+1)+". ") || !found || !strings.Contains(screens, "\n"+changing.ReplaceAllString(block, "N")) {
			t.Errorf("point %d: got %q, want it numbered, with a part of one of docs/screens", i+1, point)
		}
	}
}
