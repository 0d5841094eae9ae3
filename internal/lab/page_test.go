package lab_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// It simulates the whole gallery again.
func TestGalleryFiles_AreThoseInDocs(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("simulates a dozen hours with seventeen policies")
	}
	files, err := lab.GalleryFiles(t.Context(), func(config.Scenario) {})
	if err != nil {
		t.Fatalf("gallery files: %v", err)
	}
	if len(files) != 1+len(lab.Gallery()) {
		t.Errorf("gallery has %d files, want a page and %d pictures", len(files), len(lab.Gallery()))
	}
	for name, want := range files {
		got, err := os.ReadFile("../../docs/" + name)
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is out of date (%v); run: go run ./cmd/ridethrough lab --gallery docs", name, err)
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
