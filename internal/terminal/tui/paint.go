package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// paint colors lines of ours. It uses the sixteen colors that every terminal's
// theme has made readable, so that nobody has to ask for the background.
type paint struct {
	color bool
	ascii bool
}

func newPaint(env func(string) string) paint {
	return paint{color: env("NO_COLOR") == "", ascii: display.OnlyASCII(env)}
}

func (p paint) amber(line string) string {
	return p.with(lipgloss.NewStyle().Foreground(lipgloss.Yellow), line)
}

func (p paint) green(line string) string {
	return p.with(lipgloss.NewStyle().Foreground(lipgloss.Green), line)
}

func (p paint) red(line string) string {
	return p.with(lipgloss.NewStyle().Foreground(lipgloss.Red), line)
}

func (p paint) faint(line string) string { return p.with(lipgloss.NewStyle().Faint(true), line) }

func (p paint) strong(line string) string { return p.with(lipgloss.NewStyle().Bold(true), line) }

// teal is for words of somebody else's: their letters stay.
func (p paint) teal(text string) string {
	if !p.color || text == "" {
		return text
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Cyan).TabWidth(4).Render(text)
}

func (p paint) with(s lipgloss.Style, line string) string {
	line = p.letters(line)
	if !p.color || line == "" {
		return line
	}
	return s.Render(line)
}

// letters gives a line of ours in the letters that there are.
func (p paint) letters(line string) string {
	if p.ascii {
		return display.ASCII(line)
	}
	return line
}

// wrapped breaks a text into lines of less than so many columns: one that
// filled its row to the end would lose its last letter on some terminals.
func wrapped(text string, width int) []string {
	if text == "" {
		return nil
	}
	return strings.Split(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), max(8, width-1), ""), "\n")
}

// cutTo gives a line of so many columns at most.
func cutTo(line string, width int) string {
	return lipgloss.NewStyle().Inline(true).MaxWidth(max(1, width-1)).Render(line)
}
