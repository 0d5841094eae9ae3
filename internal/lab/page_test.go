package lab_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// TestWhatIsPublishedIsWhatTheLabSays plays the whole gallery again.
func TestWhatIsPublishedIsWhatTheLabSays(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("plays a dozen hours with seventeen policies")
	}
	files, err := lab.GalleryFiles(t.Context(), func(config.Scenario) {})
	if err != nil {
		t.Fatalf("pages: %v", err)
	}
	if len(files) != 1+len(lab.Gallery()) {
		t.Errorf("%d files", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile("../../docs/" + name)
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is another (%v); mend with: go run ./cmd/ridethrough lab --gallery docs", name, err)
		}
	}
	kept, err := os.ReadDir("../../docs/outages")
	if err != nil || len(kept) != len(lab.Gallery()) {
		t.Errorf("%d pictures are kept, of %d scenarios (%v)", len(kept), len(lab.Gallery()), err)
	}
	page := files["outages.md"]
	for _, want := range []string{"Others do better than `patient+breaker` in ", "](outages/four-hours-529.svg)", "openai/codex, codex-rs/"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page says nothing of %q", want)
		}
	}
}
