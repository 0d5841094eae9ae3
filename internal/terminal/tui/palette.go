package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// palette colors our own lines: with the theme's own sixteen colors where these can be read. On a light background
// most themes' yellow, green and cyan cannot, on a dark one most themes' red, and faint text on neither: there it
// uses other ones.
type palette struct {
	color      bool
	ascii      bool
	background background
}

// background is what the terminal has said of its own.
type background int

const (
	unsaid background = iota
	light
	dark
)

// Colors of the 256 that have a contrast of 4.5 at least to a light background.
const (
	darkAmber = lipgloss.ANSIColor(94)
	darkGreen = lipgloss.ANSIColor(22)
	darkRed   = lipgloss.ANSIColor(124)
	darkCyan  = lipgloss.ANSIColor(23)
	darkGrey  = lipgloss.ANSIColor(240)
)

// Colors of the 256 that have a contrast of 4.5 at least to a dark background.
const (
	lightRed  = lipgloss.ANSIColor(210)
	lightGrey = lipgloss.ANSIColor(247)
)

func newPalette(env func(string) string) palette {
	return palette{color: env("NO_COLOR") == "", ascii: printable.OnlyASCII(env)}
}

func (p palette) amber(line string) string {
	return p.styled(p.foreground(lipgloss.Yellow, lipgloss.Yellow, darkAmber), line)
}

func (p palette) green(line string) string {
	return p.styled(p.foreground(lipgloss.Green, lipgloss.Green, darkGreen), line)
}

func (p palette) red(line string) string {
	return p.styled(p.foreground(lipgloss.Red, lightRed, darkRed), line)
}

func (p palette) faint(line string) string {
	style := lipgloss.NewStyle().Faint(true)
	if p.background != unsaid {
		style = p.foreground(nil, lightGrey, darkGrey)
	}
	return p.styled(style, line)
}

func (p palette) strong(line string) string { return p.styled(lipgloss.NewStyle().Bold(true), line) }

// code colors text of others, whose characters stay.
func (p palette) code(text string) string {
	if !p.color || text == "" {
		return text
	}
	return p.foreground(lipgloss.Cyan, lipgloss.Cyan, darkCyan).TabWidth(4).Render(text)
}

// foreground is the style of a color, and of others on a dark and on a light background.
func (p palette) foreground(unknown, onDark, onLight color.Color) lipgloss.Style {
	return lipgloss.NewStyle().Foreground([]color.Color{unsaid: unknown, light: onLight, dark: onDark}[p.background])
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
