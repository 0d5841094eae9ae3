package description_test

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the descriptions instead of comparing them")

func TestDescriptions_MatchTheCode(t *testing.T) {
	for name, generate := range map[string]func() ([]byte, error){
		"openapi.json": generateOpenAPI, "events.schema.json": generateEvents,
	} {
		want, err := generate()
		if err != nil {
			t.Fatalf("generate %s: %v", name, err)
		}
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatalf("write %s: %v", name, err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%s differs from the code (%v); run: go test ./internal/server/description -update", name, err)
		}
	}
}

func TestDescriptions_ManualNamesEverything(t *testing.T) {
	var manual string
	for _, name := range []string{"conversations", "api"} {
		page, err := os.ReadFile("../../../docs/" + name + ".md")
		if err != nil {
			t.Fatalf("read the manual: %v", err)
		}
		manual += string(page)
	}
	for _, word := range vocabulary() {
		if !strings.Contains(manual, "`"+word+"`") {
			t.Errorf("docs/conversations.md and docs/api.md do not name %s", word)
		}
	}
}
