package lab_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab"
)

var (
	update = flag.Bool("update", false, "write docs/outages.md and its pictures")
	long   = flag.Bool("long", false, "also simulate the whole gallery, and thousands of callers: that takes minutes")
)

// takesLong skips a test of what scripts/soak simulations runs.
func takesLong(t *testing.T) {
	t.Helper()
	if !*long && !*update {
		t.Skip("takes a minute: scripts/soak simulations, or -args -long")
	}
	sequential(t)
}

// It simulates the whole gallery again.
func TestGalleryFiles_AreThoseInDocs(t *testing.T) {
	takesLong(t)
	files, err := lab.GalleryFiles(t.Context())
	if err != nil {
		t.Fatalf("gallery files: %v", err)
	}
	if len(files) != 1+len(lab.Gallery()) {
		t.Errorf("gallery has %d files, want a page and %d pictures", len(files), len(lab.Gallery()))
	}
	for name, want := range files {
		if *update {
			if err := os.WriteFile("../../docs/"+name, []byte(want), 0o644); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		got, err := os.ReadFile("../../docs/" + name)
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is out of date (%v); run: go test ./internal/lab -update", name, err)
		}
	}
	kept, err := os.ReadDir("../../docs/outages")
	if err != nil || len(kept) != len(lab.Gallery()) {
		t.Errorf("docs/outages has %d pictures, want %d (%v)", len(kept), len(lab.Gallery()), err)
	}
	page := files["outages.md"]
	for _, want := range []string{"Others do better than `patient+breaker` in ", "](outages/four-hours-529.svg)", "openai/codex, codex-rs/"} {
		if !strings.Contains(page, want) {
			t.Errorf("page without %q", want)
		}
	}
}
