package arch_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sealedPrograms are programs about events, and the compiler's error; "": it
// accepts the program.
var sealedPrograms = map[string]string{
	`var _ = wire.Event{Body: wire.Turn{Event: turn.Retry{}}}`: "",
	`var _ = wire.Event{Body: turn.Retry{}}`:                   "turn.Retry does not implement wire.Body",
	`var _ = wire.Turn{Event: wire.Reset{}}`:                   "wire.Reset does not implement turn.Event",
	`type own struct{}
func (own) kind() string { return "own" }
var _ wire.Body = own{}`: "own does not implement wire.Body",
	`type own struct{}
func (own) kind() string { return "own" }
var _ turn.Event = own{}`: "own does not implement turn.Event",
	`func _(e wire.Event) turn.Event { return e.Body }`: "wire.Body does not implement turn.Event",
}

func TestEvents_OnlyTurnAndWireHaveThem(t *testing.T) {
	for program, want := range sealedPrograms {
		out, err := compile(t, program)
		if (err == nil) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("compiling\n%s\ngot %v\n%s\nwant an error with %q", program, err, out, want)
		}
	}
}

// compile builds a package with some declarations that use turn and wire. It
// exists for the compiler only.
func compile(t *testing.T, declarations string) (out string, err error) {
	t.Helper()
	text := "package sealed\n\nimport (\n\t\"" + module + "/turn\"\n\t\"" + module + "/wire\"\n)\n\n" +
		"var (\n\t_ turn.Event\n\t_ wire.Event\n)\n\n" + declarations + "\n"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "sealed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "internal/arch/sealed/sealed.go"): source}})
	if err != nil {
		t.Fatalf("write the overlay: %v", err)
	}
	for name, data := range map[string][]byte{source: []byte(text), overlay: replace} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, module+"/internal/arch/sealed")
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	return string(output), err
}
