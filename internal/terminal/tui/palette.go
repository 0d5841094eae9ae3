package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// palette colors our own lines. It uses the theme's sixteen colors where they are readable. On a light background
// most themes' yellow, green and cyan are not, on a dark one most themes' red, and faint text on neither: there it
// uses other colors.
type palette struct {
	color      bool
	ascii      bool
	background background
}

// background is what the terminal has reported about its background.
type background int

const (
	unsaid background = iota
	light
	dark
)

// ink is a color: the theme's own, and replacements where its contrast to the background is below 4.5.
type ink struct{ own, onDark, onLight color.Color }

var (
	amber   = ink{lipgloss.Yellow, lipgloss.Yellow, lipgloss.ANSIColor(94)}
	green   = ink{lipgloss.Green, lipgloss.Green, lipgloss.ANSIColor(22)}
	red     = ink{lipgloss.Red, lipgloss.ANSIColor(210), lipgloss.ANSIColor(124)}
	cyan    = ink{lipgloss.Cyan, lipgloss.Cyan, lipgloss.ANSIColor(23)}
	magenta = ink{lipgloss.Magenta, lipgloss.ANSIColor(177), lipgloss.ANSIColor(90)}
	grey    = ink{nil, lipgloss.ANSIColor(247), lipgloss.ANSIColor(240)} // nil: faint text
)

func newPalette(env func(string) string) palette {
	return palette{color: env("NO_COLOR") == "", ascii: printable.OnlyASCII(env)}
}

func (p palette) amber(line string) string  { return p.in(amber, line) }
func (p palette) faint(line string) string  { return p.in(grey, line) }
func (p palette) strong(line string) string { return p.styled(lipgloss.NewStyle().Bold(true), line) }

func (p palette) in(i ink, line string) string { return p.styled(p.foreground(i), line) }

func (p palette) foreground(i ink) lipgloss.Style {
	s := lipgloss.NewStyle()
	switch {
	case p.background == light:
		return s.Foreground(i.onLight)
	case p.background == dark:
		return s.Foreground(i.onDark)
	}
	return s.Foreground(i.own).Faint(i.own == nil)
}

func (p palette) styled(s lipgloss.Style, line string) string {
	line = p.encode(line)
	if !p.color || line == "" {
		return line
	}
	return s.Render(line)
}

func (p palette) encode(line string) string {
	if p.ascii {
		return printable.ASCII(line)
	}
	return line
}

// wrap breaks a text into lines narrower than width columns: a full row would lose its last character on some
// terminals. All lines get its indentation.
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

func truncate(line string, width int) string {
	width = max(1, width-1)
	cut := line
	for limit := width; limit > 0 && (limit == width || lipgloss.Width(cut) > width); limit-- { // see fitted
		cut = lipgloss.NewStyle().Inline(true).MaxWidth(limit).Render(line)
	}
	return cut
}
