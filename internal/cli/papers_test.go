package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script runs a script of the repository and returns its output.
func script(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skipf("no bash: %v", err)
	}
	for _, input := range []string{"../../scripts/" + name, "../../scripts/licence", "../../go.mod"} { // so that no result is cached for others
		if _, err := os.ReadFile(input); err != nil {
			t.Fatalf("read: %v", err)
		}
	}
	var out, errs bytes.Buffer
	cmd := exec.Command("bash", append([]string{"../../scripts/" + name}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("scripts/%s: %v\n%s", name, err, &errs)
	}
	return out.Bytes()
}

func TestNotices_AreCurrent(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("../../THIRD_PARTY_NOTICES.txt")
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	lines := func(text []byte) []string { return strings.Split(string(text), "\n") }
	if diff := cmp.Diff(lines(kept), lines(script(t, "notices"))); diff != "" {
		t.Errorf("THIRD_PARTY_NOTICES.txt differs; update it with: scripts/notices > THIRD_PARTY_NOTICES.txt (-kept +current)\n%.4000s", diff)
	}
}

func TestSBOM_ListsLinkedModules(t *testing.T) {
	t.Parallel()
	var bom struct {
		BOMFormat, SpecVersion string
		Metadata               struct {
			Component struct{ Name, Version string }
		}
		Components []struct {
			Name, Version, Purl string
			Licenses            []struct{ Expression string }
			Properties          []struct{ Name, Value string }
		}
	}
	text := script(t, "sbom")
	if err := json.Unmarshal(text, &bom); err != nil || bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.6" || bom.Metadata.Component.Name != "ridethrough" {
		t.Fatalf("%v: %.300s", err, text)
	}
	var names []string
	for _, c := range bom.Components {
		names = append(names, c.Name)
		if c.Version == "" || !strings.HasSuffix(c.Purl, "@"+c.Version) || len(c.Licenses) != 1 || c.Licenses[0].Expression == "" {
			t.Errorf("component %+v lacks something", c)
		}
		if c.Name == "github.com/spf13/cobra" && (len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:")) {
			t.Errorf("%s has no sum: %+v", c.Name, c.Properties)
		}
	}
	for _, want := range []string{"std", "github.com/spf13/cobra", "github.com/nats-io/nats.go", "go.etcd.io/bbolt", "github.com/modelcontextprotocol/go-sdk", "preact", "@preact/signals"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
}
