package cli

import (
	"errors"
	"io"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

func TestSuggestion_IsTheNearestName(t *testing.T) {
	names := []string{"serve", "service", "status", "setup", "policy", "waits"}
	for unknown, want := range map[string]string{
		"serv": "serve", "sreve": "serve", "servic": "service", "stat": "status", "polcy": "policy", "wait": "waits",
		"x": "", "chat": "", "wa": "", "": "", "completely-else": "",
	} {
		said := "unknown"
		if want != "" {
			said += "; did you mean " + want + "?"
		}
		if got := withNearest(errors.New("unknown"), unknown, names, ""); got.Error() != said {
			t.Errorf("%q: got %q, want %q", unknown, got, said)
		}
	}
}

func TestDistance_CountsChangesOfLetters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "axc", 1}, {"abc", "abxc", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestMeant_NamesNoCommandThatThereIs(t *testing.T) {
	root := Root(command.Streams{Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }})
	for name := range meant {
		if found, _, err := root.Find([]string{name}); err == nil && found != root {
			t.Errorf("%s is a command, and has a hint for those who look for another one", name)
		}
	}
}
