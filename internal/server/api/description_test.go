package api_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/server/api"
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
			write(t, name, want)
			write(t, name+".gz", packed(want))
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%s differs from the code (%v); run: go test ./internal/server/api -update", name, err)
		}
	}
}

// What the program has is compressed, and the texts beside it are for readers of the repository.
func TestDescriptions_ArePacked(t *testing.T) {
	if *update {
		t.Skip("the program has what was written when it is compiled again")
	}
	for name, got := range map[string]func() string{"openapi.json": api.OpenAPI, "events.schema.json": api.Events} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("read the description: %v", err)
		}
		z, err := gzip.NewReader(strings.NewReader(got()))
		if err != nil {
			t.Fatalf("%s.gz: %v", name, err)
		}
		if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s.gz has another text than %s (%v); run: go test ./internal/server/api -update", name, name, err)
		}
	}
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatalf("write %s: %v", name, err)
	}
}

// packed returns a text with gzip.
func packed(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(text)                                  // a buffer never fails
	_ = z.Close()
	return b.Bytes()
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
