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
const sizeBound = 60_000

// files returns the page's files by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(web.Files(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(web.Files(), path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatalf("read files: %v", err)
	}
	return all
}

func TestFiles_StayWithinSizeBudget(t *testing.T) {
	sum := 0
	for name, text := range files(t) {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatalf("write string: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		t.Logf("%6d %6d %s", len(text), packed.Len(), name)
		sum += packed.Len()
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
