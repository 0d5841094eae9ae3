package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// all returns every command that the help shows.
func all(t *testing.T) []*cobra.Command {
	t.Helper()
	found := slices.Collect(commands(root()))
	if len(found) < 35 {
		t.Fatalf("%d commands, want all of the program", len(found))
	}
	return found
}

// TestCommands_HaveExamples is about commands that do something, not about those that only have others below them.
func TestCommands_HaveExamples(t *testing.T) {
	for _, cmd := range all(t) {
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
	for _, cmd := range all(t) {
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
	if err := write(dir); err != nil {
		t.Fatalf("write: %v", err)
	}
	for _, cmd := range all(t) {
		file := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), ".SH DESCRIPTION") {
			t.Errorf("%s: no page: %v", cmd.CommandPath(), err)
		}
		if cmd.Example != "" && !strings.Contains(string(text), ".SH EXAMPLE") {
			t.Errorf("%s: a page without its examples", cmd.CommandPath())
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("the pages are not read by groff, which is not installed")
	}
	for _, file := range files {
		if out, err := exec.CommandContext(t.Context(), "groff", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff on %s: %v\n%s", filepath.Base(file), err, out)
		}
	}
}
