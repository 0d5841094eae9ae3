package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// mistake is a command of docs/install.md that shows what a mistyped flag is answered with.
const mistake = "ridethrough serve --polcy patient"

// TestDocs_CommandsExist checks that each command in the README and the manual exists and has the flags that are on
// its line.
func TestDocs_CommandsExist(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("list %s: got %d pages, error %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("read page: %v", err)
			}
			if filepath.Base(name) == "CHANGELOG.md" {
				continue // what it names may be gone
			}
			for _, words := range commandsIn(string(text)) {
				if strings.Join(words, " ") == mistake {
					continue
				}
				checked++
				if wrong := wrongCommand(t, words); wrong != "" {
					t.Errorf("%s: %s: %s", name, strings.Join(words, " "), wrong)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("found %d commands in the pages, want at least 100", checked)
	}
}

func TestDocs_CommandsAreFound(t *testing.T) {
	const page = "Run `ridethrough policy show NAME`, or `ridethrough`.\n```sh\nKEY=x ridethrough run -m a/b \"a | b\" - < in > out.md  # why\n" +
		"$ git diff | ridethrough council \"Why?\" \\\n  -m x && go run -C bench . -quick\n```\n```yaml\nridethrough: is no command\n```\n```\nridethrough: held 2 calls\n```\n"
	want := []string{
		"ridethrough run -m a/b a | b -", "ridethrough council Why? -m x", "go run -C bench . -quick", "ridethrough policy show NAME",
	}
	var got []string
	for _, words := range commandsIn(page) {
		got = append(got, strings.Join(words, " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("commands of the page: got %q, want %q", got, want)
	}
	for line, part := range map[string]string{
		"ridethrough policy sho": "no command", "ridethrough serve --liste x": "unknown flag",
		"go run ./cmd/nothing": "no such file", "go run -C nothing .": "no such file", "ridethrough wiats": "no command wiats", "ridethrough serve --listen :1 -- x": "",
	} {
		if wrong := wrongCommand(t, strings.Fields(line)); !strings.Contains(wrong, part) || (wrong != "") != (part != "") {
			t.Errorf("%s: got %q, want %q", line, wrong, part)
		}
	}
}

// wrongCommand returns what is wrong with a command, "" if nothing. With --help the program parses the line and
// does nothing else.
func wrongCommand(t *testing.T, words []string) string {
	t.Helper()
	if words[0] == "go" {
		for i, word := range words {
			if strings.HasPrefix(word, "./") || words[max(0, i-1)] == "-C" {
				if _, err := os.Stat("../../" + strings.TrimSuffix(word, "/...")); err != nil {
					return err.Error()
				}
			}
		}
		return ""
	}
	var out, errs bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"--help=true"}, words[1:]...), command.Streams{Out: &out, Err: &errs, Env: func(string) string { return "" }})
	if code != 0 {
		if strings.Contains(errs.String(), "flag needs an argument") && !strings.Contains(errs.String(), "=") {
			return "" // the text is about the flag
		}
		return strings.TrimSpace(errs.String())
	}
	return unknownPart(words, out.String())
}

// usage finds the command's path in its help.
var usage = regexp.MustCompile(`(?m)^Usage:\n  (ridethrough\S*(?: [a-z-]+)*)`)

// unknownPart returns what is wrong with a line for which the program shows the help of a command with others below.
func unknownPart(words []string, help string) string {
	path := usage.FindStringSubmatch(help)
	if path == nil {
		return "prints no usage"
	}
	rest := words[min(len(words), len(strings.Fields(path[1]))):]
	if strings.Contains(help, "[command]") && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "COMMAND" { // which stands for any
		return "no command " + rest[0] + " below " + path[1]
	}
	return ""
}

var (
	fence    = regexp.MustCompile("(?ms)^```(sh|console|)\n(.*?)^```")
	anyFence = regexp.MustCompile("(?ms)^```.*?^```")
	span     = regexp.MustCompile("`(ridethrough [^`]+)`")
	setting  = regexp.MustCompile(`^[A-Z_]+=`)
)

// commandsIn returns the commands of a page that are ours or go's, each as its words: those of shell blocks, then
// those in a text.
func commandsIn(page string) (all [][]string) {
	add := func(line string) {
		for _, words := range split(line) {
			for len(words) > 0 && (words[0] == "$" || setting.MatchString(words[0])) {
				words = words[1:]
			}
			if len(words) > 1 && slices.Contains([]string{"ridethrough", "go"}, words[0]) {
				all = append(all, words)
			}
		}
	}
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
			add(line)
		}
	}
	for _, found := range span.FindAllStringSubmatch(anyFence.ReplaceAllString(page, ""), -1) {
		add(found[1])
	}
	return all
}

// split returns the commands of a line of a shell, each as its words, without redirections and comments.
func split(line string) (commands [][]string) {
	var words []string
	var word strings.Builder
	quote, open, skip := rune(0), false, false
	end := func() {
		if open && !skip {
			words = append(words, word.String())
		}
		if open {
			skip = false
		}
		word.Reset()
		open = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && r == '#' && !open:
			return append(commands, words)
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			end()
		case quote == 0 && (r == '|' || r == '&' || r == ';'):
			end()
			commands, words = append(commands, words), nil
		case quote == 0 && (r == '<' || r == '>'):
			end()
			skip = true
		default:
			word.WriteRune(r)
			open = true
		}
	}
	end()
	return append(commands, words)
}

// TestDocs_WaitingShowsTheScreens checks that what docs/chat.md shows of a wait is part of a screen of the program.
func TestDocs_WaitingShowsTheScreens(t *testing.T) {
	page, err := os.ReadFile("../../docs/chat.md")
	if err != nil {
		t.Fatalf("read page: %v", err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What you see while it waits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	files, err := filepath.Glob("../../docs/screens/*.txt")
	if err != nil {
		t.Fatalf("list screens: %v", err)
	}
	var screens strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read screen: %v", err)
		}
		screens.Write(text)
	}
	shown := regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(section, -1)
	for _, block := range shown {
		if !strings.Contains(screens.String(), block[1]) {
			t.Errorf("docs/chat.md: got\n%swant a part of one of docs/screens", block[1])
		}
	}
	if len(shown) < 11 {
		t.Errorf("docs/chat.md: got %d screens, want one of each of the eleven points", len(shown))
	}
}
