package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server/web"
)

// sizeBound is the largest size of the page as it is sent, in bytes.
const sizeBound = 70_000

// files returns the page's files by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	dist := os.DirFS("dist")
	err := fs.WalkDir(dist, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dist, path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatalf("read files: %v", err)
	}
	return all
}

// sent returns the page's files as they are sent, by name.
func sent(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, text := range files(t) {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatalf("write string: %v", err)
		}
		if err := z.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		if b.Len() < len(text) {
			name, text = name+".gz", b.String()
		}
		all[name] = text
	}
	return all
}

// What the program has are the built files, and no others.
func TestFiles_AreThoseOfTheBuild(t *testing.T) {
	if *update {
		writePacked(t)
		return // the program has them when it is compiled again
	}
	got := map[string]string{}
	entries, err := fs.ReadDir(web.Files(), ".")
	if err != nil {
		t.Fatalf("read the files: %v", err)
	}
	for _, e := range entries {
		text, err := fs.ReadFile(web.Files(), e.Name())
		if err != nil {
			t.Fatalf("read %s: %v", e.Name(), err)
		}
		name, packed := strings.CutSuffix(e.Name(), ".gz")
		if packed {
			z, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatalf("unpack %s: %v", name, err)
			}
			if text, err = io.ReadAll(z); err != nil {
				t.Fatalf("unpack %s: %v", name, err)
			}
		}
		got[name] = string(text)
	}
	if !maps.Equal(got, files(t)) {
		t.Errorf("packed has %v, which is not what dist has; run: go test ./internal/server/web -update", slices.Sorted(maps.Keys(got)))
	}
}

// writePacked makes packed from dist.
func writePacked(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll("packed"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if err := os.Mkdir("packed", 0o755); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	for name, text := range sent(t) {
		if err := os.WriteFile("packed/"+name, []byte(text), 0o644); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
}

func TestFiles_StayWithinSizeBudget(t *testing.T) {
	sum := 0
	for name, text := range sent(t) {
		t.Logf("%6d %s", len(text), name)
		sum += len(text)
	}
	t.Logf("%d of %d bytes compressed", sum, sizeBound)
	if sum > sizeBound {
		t.Errorf("the page has %d bytes compressed, want at most %d", sum, sizeBound)
	}
}

func TestFiles_IncludeAllReferences(t *testing.T) {
	all := files(t)
	asked := regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	for _, match := range asked.FindAllStringSubmatch(all["index.html"], -1) {
		if name := match[1]; all[name] == "" && !strings.HasPrefix(name, "../") {
			t.Errorf("index.html asks for %s, which is none of %v", name, slices.Sorted(maps.Keys(all)))
		}
	}
	if all["app.js"] == "" || all["app.css"] == "" {
		t.Errorf("%v", slices.Sorted(maps.Keys(all)))
	}
}

// The Content-Security-Policy refuses inline scripts and styles.
func TestFiles_DocumentHasNoInlineScriptOrStyle(t *testing.T) {
	inside := regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]|javascript:|//`)
	if found := inside.FindString(files(t)["index.html"]); found != "" {
		t.Errorf("index.html has %q", found)
	}
}

// The words are those of package fault, so that all views agree.
func TestWords_NameEveryKind(t *testing.T) {
	source, err := os.ReadFile("src/words.ts")
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	words := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^  '([a-z-]+)': '([^']+)',$`).FindAllStringSubmatch(string(source), -1) {
		words[match[1]] = match[2]
	}
	for k := fault.Unknown; k <= fault.Canceled; k++ {
		if words[k.String()] != k.Text() {
			t.Errorf("%v: %q, want %q", k, words[k.String()], k.Text())
		}
	}
	if want := int(fault.Canceled) + 1; len(words) != want {
		t.Errorf("%d kinds, want %d", len(words), want)
	}
}
