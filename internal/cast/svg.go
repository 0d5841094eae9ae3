package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// The grid of the picture, in pixels.
const (
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 16
)

// look has the colors for a light and a dark page, and the text before anything moves. Without animation the last
// screen is to be seen. The colors of text have a contrast of 4.5:1 and more.
const look = `<style>
.page{fill:#f6f8fa;stroke:#d0d7de}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328;white-space:pre}
.faint{fill:#59636e}.amber{fill:#8a5a00}.green{fill:#116329}.red{fill:#cf222e}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117;stroke:#30363d}
text{fill:#e6edf3}.faint{fill:#9198a1}.amber{fill:#e3b341}.green{fill:#56d364}.red{fill:#ff7b72}
}
.gone{visibility:hidden}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
`

// svg draws the movie. It plays in an <img>: no script, no font of its own, nothing that is loaded.
func (m movie) svg() string {
	var b strings.Builder
	width, height := float64(m.width)*cellWidth+2*margin, m.height*lineHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n%s", html.EscapeString(strings.SplitN(m.words(), "\n", 2)[0]), look)
	for i, s := range m.stays {
		if m.moves(s) {
			fmt.Fprintf(&b, "@keyframes k%d{%s}\n", i, m.keyframes(s))
		}
	}
	fmt.Fprintf(&b, "</style>\n"+`<rect class="page" x=".5" y=".5" width="%.0f" height="%d" rx="8"/>`+"\n", width-1, height-1)
	for i, s := range m.stays {
		m.draw(&b, i, s)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// moves reports whether a row comes or goes.
func (m movie) moves(s stay) bool { return s.from > 0 || s.to < m.length }

// keyframes returns when a row is to be seen. The animation jumps from one to the next (step-end).
func (m movie) keyframes(s stay) string {
	frames := ""
	if s.from > 0 {
		frames = "0%{visibility:hidden}"
	}
	frames += m.percent(s.from) + "{visibility:visible}"
	if s.to < m.length {
		frames += m.percent(s.to) + "{visibility:hidden}"
	}
	return frames
}

func (m movie) percent(at time.Duration) string {
	return fmt.Sprintf("%.5g%%", 100*float64(at)/float64(m.length))
}

// draw writes a row: a text for each run of one style, as wide as its columns in every font.
func (m movie) draw(b *strings.Builder, n int, s stay) {
	attributes := ""
	if m.moves(s) {
		attributes = fmt.Sprintf(` style="animation:k%d %gs step-end infinite"`, n, m.length.Seconds())
	}
	for from := 0; from < len(s.row); {
		to := from
		for to < len(s.row) && s.row[to].style == s.row[from].style {
			to++
		}
		class := string(s.row[from].style)
		if s.to < m.length {
			class = strings.TrimSpace(class + " gone")
		}
		if class != "" {
			class = ` class="` + class + `"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s%s xml:space="preserve">%s</text>`+"\n",
			margin+float64(from)*cellWidth, margin+s.line*lineHeight+15, float64(to-from)*cellWidth, class, attributes, html.EscapeString(s.row[from:to].text()))
		from = to
	}
}
