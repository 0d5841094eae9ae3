package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands returns every command of both programs that the help shows.
func commands(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	for _, name := range []string{"ridethrough", "ridethrough-gateway"} {
		_ = each(root(name), func(cmd *cobra.Command) error {
			all = append(all, cmd)
			return nil
		})
	}
	if len(all) < 60 {
		t.Fatalf("%d commands, want those of both programs", len(all))
	}
	return all
}

// TestCommands_HaveExamples is about commands that do something, not about those that only have others below them.
func TestCommands_HaveExamples(t *testing.T) {
	for _, cmd := range commands(t) {
		groups := cmd.HasAvailableSubCommands() && cmd.Name() != "waits"
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its line in the list is %q, want a phrase", cmd.CommandPath(), cmd.Short)
		}
		if !groups && !strings.HasPrefix(cmd.Example, "  ") {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	}
}

// valueName is how the help names a value, such as FILE or NAME=URL.
var valueName = regexp.MustCompile(`^[A-Z]+([=/|][A-Z]+)*$`)

func TestFlags_ValuesHaveNames(t *testing.T) {
	for _, cmd := range commands(t) {
		page(cmd) // names the values
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			switch takes := f.Value.Type() != "bool"; {
			case takes && !valueName.MatchString(strings.Trim(name, "[]")) && f.NoOptDefVal == "":
				t.Errorf("%s --%s: its value is named %q, want a name in capitals", cmd.CommandPath(), f.Name, name)
			case !takes && name != "":
				t.Errorf("%s --%s takes no value, and the help names one: %q", cmd.CommandPath(), f.Name, name)
			}
		})
	}
}

func TestPages_AreThereForEveryCommandAndPassGroff(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ridethrough", "ridethrough-gateway"} {
		if err := write(name, dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, cmd := range commands(t) {
		file := filepath.Join(dir, pageName(cmd)+".1")
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), ".SH DESCRIPTION") {
			t.Errorf("%s: no page: %v", cmd.CommandPath(), err)
		}
		if cmd.Example != "" && !strings.Contains(string(text), ".SH EXAMPLES") {
			t.Errorf("%s: a page without its examples", cmd.CommandPath())
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("the pages are not read by groff, which is not installed")
	}
	for _, file := range files {
		if out, err := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww", "-z", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff on %s: %v\n%s", filepath.Base(file), err, out)
		}
	}
}

func TestPage_KeepsWhatIsTyped(t *testing.T) {
	for text, want := range map[string]string{".x\n-a": "\\&.x\n\\-a", `a\b 'c'`: `a\eb \(aqc\(aq`, "a…": `a\[u2026]`} {
		if got := roff(text); got != want {
			t.Errorf("roff(%q): got %q, want %q", text, got, want)
		}
	}
}
