package tui

import (
	"context"
	"image/color"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
)

// NewModel returns the model of Run without a terminal; print prints lines above
// the view.
func NewModel(ctx context.Context, c Config, print func(text string)) tea.Model {
	return newModel(ctx, c, print)
}

// Leave is what the end of Run's context sends.
func Leave() tea.Msg { return quitMsg{} }

// Blocks returns the blocks that an answer is cut into while it streams, each with
// whether it continues the one before.
func Blocks(pieces ...string) (texts []string, glued []bool) {
	var s stream
	var all []block
	for _, piece := range pieces {
		all = append(all, s.add(piece)...)
	}
	for _, b := range append(all, s.finish()...) {
		texts, glued = append(texts, b.text), append(glued, b.continues)
	}
	return texts, glued
}

// Reconciled returns what is printed of an answer of which these pieces were received, and whether it says that
// some were missed.
func Reconciled(whole string, heard ...string) (printed string, missed bool) {
	var s stream
	var all []block
	for _, piece := range heard {
		all = append(all, s.add(piece)...)
	}
	rest, missed := s.reconcile(whole)
	for _, b := range slices.Concat(all, rest, s.finish()) {
		printed += b.text
	}
	return printed, missed
}

// Render renders a block of Markdown, with colors or without.
func Render(text string, width int, color bool) []string {
	return newMarkdown(palette{color: color}).render(text, width)
}

// Languages returns the names of the languages whose code is colored.
func Languages() []string {
	return strings.Fields(strings.Join(slices.Collect(maps.Keys(syntaxes)), " "))
}

// Highlight colors code.
func Highlight(source, language string) string {
	return markdown{paint: palette{color: true}}.highlight(source, language)
}

// Marked returns code with its tokens marked: c(comment), s(string), n(number), k(keyword), y(key or tag).
func Marked(source, language string) string {
	var b strings.Builder
	syntaxOf(language).tokens(source, func(color ink, text string) {
		if mark := map[ink]string{grey: "c", green: "s", amber: "n", magenta: "k", cyan: "y"}[color]; mark != "" {
			text = mark + "(" + text + ")"
		}
		b.WriteString(text)
	})
	return b.String()
}

// Prompts opens a prompt history.
func Prompts(file string) *promptHistory { return loadPrompts(file) }

// Add keeps a prompt.
func (p *promptHistory) Add(text string) { p.add(text) }

// All returns the prompts.
func (p *promptHistory) All() []string { return p.all }

// NotifySequence returns the escape sequence of a notification.
func NotifySequence(n Notify, env func(string) string, words string) string {
	return n.sequence(env, words)
}

// SupportsProgress reports whether a terminal shows progress.
func SupportsProgress(env func(string) string) bool { return supportsProgress(env) }

// Stream is a streaming answer on a screen.
type Stream struct{ m *model }

// NewStream returns an empty answer.
func NewStream(width int) Stream {
	m := newModel(context.Background(), Config{Env: func(string) string { return "" }}, func(string) {})
	m.resize(width, 24)
	m.turn.id = "turn"
	return Stream{m}
}

// Add appends text and draws it.
func (s Stream) Add(text string) {
	s.m.printBlocks(s.m.answer.add(text))
	s.m.flush()
	s.m.View()
}

// OnLight and OnDark are the colors of our lines that are not the theme's, on a light and a dark background.
func OnLight() map[string]color.Color {
	return map[string]color.Color{
		"amber": amber.onLight, "green": green.onLight, "red": red.onLight, "cyan": cyan.onLight, "magenta": magenta.onLight, "faint": grey.onLight,
	}
}

func OnDark() map[string]color.Color {
	return map[string]color.Color{"red": red.onDark, "magenta": magenta.onDark, "faint": grey.onDark}
}

// Screen is the part of a terminal that Run draws on.
type Screen struct{ *screen }

// NewScreen returns the screen of a terminal with 256 colors.
func NewScreen(out term.File) Screen {
	return Screen{&screen{File: out, profile: colorprofile.ANSI256}}
}

// Print prints a text above the next view.
func (s Screen) Print(text string) { s.print(text) }

// Narrowed notes that the terminal has become narrower.
func (s Screen) Narrowed(width int) { s.narrowed(width) }

// Draw draws a view.
func (s Screen) Draw(v tea.View) { s.draw(v) }

// SlashCommands are the commands with their descriptions.
func SlashCommands() (all [][2]string) {
	for _, c := range slashCommands() {
		all = append(all, [2]string{c.text, c.about})
	}
	return all
}

// WrapLine and TruncateLine fit a text into a width.
func WrapLine(text string, width int) []string   { return wrap(text, width) }
func TruncateLine(text string, width int) string { return truncate(text, width) }
