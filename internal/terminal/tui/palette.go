package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// palette colors our own lines. It uses the sixteen colors that every terminal's theme makes
// readable, so that the background need not be known.
type palette struct {
	color bool
	ascii bool
}

func newPalette(env func(string) string) palette {
	return palette{color: env("NO_COLOR") == "", ascii: printable.OnlyASCII(env)}
}

func (p palette) amber(line string) string {
	return p.styled(lipgloss.NewStyle().Foreground(lipgloss.Yellow), line)
}

func (p palette) green(line string) string {
	return p.styled(lipgloss.NewStyle().Foreground(lipgloss.Green), line)
}

func (p palette) red(line string) string {
	return p.styled(lipgloss.NewStyle().Foreground(lipgloss.Red), line)
}

func (p palette) faint(line string) string { return p.styled(lipgloss.NewStyle().Faint(true), line) }

func (p palette) strong(line string) string { return p.styled(lipgloss.NewStyle().Bold(true), line) }

// code colors text of others, whose characters stay.
func (p palette) code(text string) string {
	if !p.color || text == "" {
		return text
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Cyan).TabWidth(4).Render(text)
}

func (p palette) styled(s lipgloss.Style, line string) string {
	line = p.encode(line)
	if !p.color || line == "" {
		return line
	}
	return s.Render(line)
}

// encode returns a line of ours in the characters that the terminal has.
func (p palette) encode(line string) string {
	if p.ascii {
		return printable.ASCII(line)
	}
	return line
}

// wrap breaks a text into lines of less than width columns: a full row would lose its last character
// on some terminals.
func wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	return strings.Split(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), max(8, width-1), ""), "\n")
}

// truncate cuts a line to less than width columns.
func truncate(line string, width int) string {
	return lipgloss.NewStyle().Inline(true).MaxWidth(max(1, width-1)).Render(line)
}
