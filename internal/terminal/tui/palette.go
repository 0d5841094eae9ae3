package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// palette colors our own lines. On a dark or unknown background it uses the theme's own sixteen colors.
// On a light one most themes' yellow, green and cyan are not readable: there it uses darker ones.
type palette struct {
	color bool
	ascii bool
	light bool // the terminal has said that its background is light
}

// Colors of the 256 that have a contrast of 4.5 at least to a light background.
const (
	darkAmber = lipgloss.ANSIColor(94)
	darkGreen = lipgloss.ANSIColor(22)
	darkRed   = lipgloss.ANSIColor(124)
	darkCyan  = lipgloss.ANSIColor(23)
)

func newPalette(env func(string) string) palette {
	return palette{color: env("NO_COLOR") == "", ascii: printable.OnlyASCII(env)}
}

func (p palette) amber(line string) string {
	return p.styled(p.foreground(lipgloss.Yellow, darkAmber), line)
}

func (p palette) green(line string) string {
	return p.styled(p.foreground(lipgloss.Green, darkGreen), line)
}

func (p palette) red(line string) string {
	return p.styled(p.foreground(lipgloss.Red, darkRed), line)
}

func (p palette) faint(line string) string { return p.styled(lipgloss.NewStyle().Faint(true), line) }

func (p palette) strong(line string) string { return p.styled(lipgloss.NewStyle().Bold(true), line) }

// code colors text of others, whose characters stay.
func (p palette) code(text string) string {
	if !p.color || text == "" {
		return text
	}
	return p.foreground(lipgloss.Cyan, darkCyan).TabWidth(4).Render(text)
}

// foreground is the style of a color, and of another on a light background.
func (p palette) foreground(themes, onLight color.Color) lipgloss.Style {
	if p.light {
		themes = onLight
	}
	return lipgloss.NewStyle().Foreground(themes)
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
// on some terminals. Its indentation is that of all lines.
func wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	text = strings.ReplaceAll(text, "\t", "    ")
	indent := text[:min(indentOf(text), width/4)]
	const noBreak = "\u2011" // a hyphen at which no line is broken: a command is to be copied
	lines := wrapTo(strings.ReplaceAll(text[len(indent):], "-", noBreak), width-1-len(indent))
	for i, line := range lines {
		lines[i] = indent + strings.ReplaceAll(line, noBreak, "-")
	}
	return lines
}

// truncate cuts a line to less than width columns.
func truncate(line string, width int) string {
	width = max(1, width-1)
	cut := line
	for limit := width; limit > 0 && (limit == width || lipgloss.Width(cut) > width); limit-- { // see fitted
		cut = lipgloss.NewStyle().Inline(true).MaxWidth(limit).Render(line)
	}
	return cut
}
