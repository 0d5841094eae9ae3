package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

var tooLong = fmt.Sprintf("longer than %d KiB", conversation.MaxText>>10)

func (c Config) dirOf() string {
	if c.Dir != "" {
		return c.Dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

// sendWithFiles sends a prompt with the files that it names. If a file cannot be attached, it says so first. The
// same prompt sent again goes without that file, or with it if it is only outside the directory. shown is the
// prompt with placeholders for long pasted texts, in which no files are looked for.
func (m *model) sendWithFiles(shown, text string) tea.Cmd {
	again := m.doubtful == text
	a := attach(shown, m.dirOf(), again)
	switch {
	case len(a.lacking) > 0 && !again:
		m.doubtful = text
		if !m.hasDraft() {
			m.fillComposer(text)
		}
		hint := "Enter again sends it without"
		if a.asks {
			hint = "Enter again sends it"
		}
		m.printWrapped(amber, "▲ "+strings.Join(a.lacking, "; "))
		m.showHint(hint)
		return nil
	case len(text)+len(a.files) > conversation.MaxText:
		m.showHint("With its files that is " + tooLong)
		return nil
	}
	m.doubtful = ""
	m.clearComposer()
	if text == m.turn.returned.text && len(m.queue)+len(m.outbox) == 0 {
		return m.askAgain(text)
	}
	return m.send(text+a.files, a.images...)
}

// sendWithFiles sends a prompt with the files that it names, and reports those that are missing.
func (ps *plainSession) sendWithFiles(ctx context.Context, text string) error {
	a := attach(text, ps.dirOf(), false)
	for _, why := range a.lacking {
		ps.line("▲ Not attached: " + why)
	}
	if len(text)+len(a.files) > conversation.MaxText {
		ps.line("× Not sent: with its files that is " + tooLong)
		return nil
	}
	for _, i := range a.images {
		ps.line("· With " + printable.Line(i.String()))
	}
	return ps.send(ctx, text+a.files, a.images...)
}

const maxEntries = 2000

// completeFile returns the completions of the file that is being typed at the end of a text, or nil.
func completeFile(typed, dir string) (all []completion) {
	mentions := mentionsIn(typed)
	if strings.HasSuffix(typed, "@") && (len(typed) == 1 || unicode.IsSpace(rune(typed[len(typed)-2]))) {
		mentions = []mention{{start: len(typed) - 1, end: len(typed)}}
	}
	if len(mentions) == 0 || mentions[len(mentions)-1].end != len(typed) || strings.HasSuffix(typed, `"`) {
		return nil
	}
	m := mentions[len(mentions)-1]
	folder, prefix := filepath.Split(m.path)
	f, err := os.Open(resolve(folder, dir))
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxEntries) // as many as can be read
	for _, e := range entries {
		name := e.Name()
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, ".")
		if !hidden && strings.HasPrefix(name, prefix) && name != prefix {
			all = append(all, completion{typed[:m.start] + named(folder+name, e.IsDir(), m.quoted), ""})
		}
	}
	slices.SortFunc(all, func(a, b completion) int { return strings.Compare(a.text, b.text) })
	return all
}

// named names a file in a prompt. A directory is left open for the rest of the path.
func named(path string, dir, quoted bool) string {
	end := ""
	if dir {
		path += "/"
	} else {
		end = `"`
	}
	if quoted || strings.ContainsFunc(path, unicode.IsSpace) {
		return `@"` + path + end
	}
	return "@" + path
}

// shownCompletion is a completion as it is listed: a file without the text before it.
func shownCompletion(text string) string {
	if all := mentionsIn(text); len(all) > 0 && all[len(all)-1].end == len(text) {
		return printable.Line(text[all[len(all)-1].start:])
	}
	return text
}
