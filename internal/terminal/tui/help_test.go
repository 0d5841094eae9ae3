package tui_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

// The manual and /help have the same words.
func TestHelp_IsInTheManual(t *testing.T) {
	page, err := os.ReadFile("../../../docs/chat.md")
	if err != nil {
		t.Fatalf("read the manual: %v", err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Commands\n")
	table, _, _ = strings.Cut(table, "\n## ")
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	var want []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.HasPrefix(cells[1], " `/") {
			want = append(want, strings.Trim(cells[1], " `")+": "+link.ReplaceAllString(strings.TrimSpace(cells[2]), "$1"))
		}
	}
	var got []string
	for _, c := range tui.SlashCommands() {
		text := c[0] + ": " + c[1]
		if arguments, about, ok := strings.Cut(c[1], ": "); ok {
			text = c[0] + " " + arguments + ": " + about
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("commands: got\n%s\nwant those of docs/chat.md:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
