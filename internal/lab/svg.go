package lab

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
)

const (
	pictureWidth = 900
	plotLeft     = 160
	plotWidth    = 560
	plotTop      = 86
	rowHeight    = 34
	plotHeight   = 26
	maxPoints    = 140 // of a series
)

// style has colours that are visible on white and on black, and distinguishable in grey.
const style = `<style>
text { font: 12px system-ui, sans-serif; fill: #6e7781; }
.t { font-size: 16px; font-weight: 600; }
.n { text-anchor: end; }
.a { text-anchor: middle; }
.r { fill: #4a90d9; fill-opacity: .75; }
.k { fill: none; stroke: #2da44e; stroke-width: 1.5; }
.d { fill: #d4a72c; fill-opacity: .35; }
.p { fill: #d4a72c; fill-opacity: .15; }
.x { stroke: #8c959f; stroke-opacity: .5; }
@media (prefers-color-scheme: dark) { text { fill: #9da7b3; } }
</style>`

// SVG draws the requests and answers per minute of each strategy, each row scaled to its own maximum.
func (r *Report) SVG() string {
	height := plotTop + rowHeight*len(r.Results) + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t d">`+"\n", pictureWidth, height)
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n%s\n", html.EscapeString(r.Scenario.Title), html.EscapeString(r.description()), style)
	fmt.Fprintf(&b, `<text class="t" x="10" y="24">%s</text>`+"\n", html.EscapeString(r.Scenario.Title))
	b.WriteString(`<rect class="r" x="10" y="40" width="14" height="10"/><text x="30" y="50">requests per minute at the provider</text>` + "\n")
	b.WriteString(`<path class="k" d="M262 45h14"/><text x="282" y="50">answers</text>` + "\n")
	b.WriteString(`<rect class="d" x="346" y="40" width="14" height="10"/><text x="366" y="50">refuses every call</text>` + "\n")
	b.WriteString(`<rect class="p" x="484" y="40" width="14" height="10"/><text x="504" y="50">degraded</text>` + "\n")
	fmt.Fprintf(&b, `<text class="n" x="%d" y="76">answered</text><text class="n" x="%d" y="76">most/min</text>`+"\n", pictureWidth-90, pictureWidth-10)
	r.shade(&b, height)
	for i := range r.Results {
		r.row(&b, i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (r *Report) description() string {
	parts := make([]string, len(r.Results))
	for i, one := range r.Results {
		parts[i] = fmt.Sprintf("%s answered %s with %s requests", one.Strategy.Name, share(one.Answered, one.Calls), count(one.Requests))
	}
	return strings.Join(strings.Fields(r.Scenario.About), " ") + " Requests and answers per minute for each policy: " + strings.Join(parts, "; ") + "."
}

func (r *Report) x(minute int) string {
	return coordinate(plotLeft + float64(plotWidth*minute)/float64(max(1, r.minutes())))
}

func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func (r *Report) shade(b *strings.Builder, height int) {
	bottom, n := height-26, r.minutes()
	for from := 0; from < n; {
		state, to := stateAt(r.Scenario, from), from+1
		for to < n && stateAt(r.Scenario, to) == state {
			to++
		}
		if state != healthy {
			class := [...]string{degraded: "p", down: "d"}[state]
			fmt.Fprintf(b, `<path class="%s" d="M%s %dH%sV%dH%sz"/>`+"\n", class, r.x(from), plotTop-6, r.x(to), bottom, r.x(from))
		}
		from = to
	}
	for minute := 0; minute <= n; minute += tick(n) {
		fmt.Fprintf(b, `<path class="x" d="M%s %dV%d"/><text class="a" x="%s" y="%d">%s</text>`+"\n",
			r.x(minute), bottom, bottom+5, r.x(minute), bottom+20, clockText(minute))
	}
}

func tick(minutes int) int {
	for _, step := range []int{5, 10, 15, 30, 60, 120, 240} {
		if minutes/step <= 9 {
			return step
		}
	}
	return minutes / 6
}

// clockText formats a time since the start: 30 min, 2 h, 1:30 h.
func clockText(minute int) string {
	switch h, m := minute/60, minute%60; {
	case h == 0:
		return strconv.Itoa(m) + " min"
	case m == 0:
		return strconv.Itoa(h) + " h"
	default:
		return fmt.Sprintf("%d:%02d h", h, m)
	}
}

func (r *Report) row(b *strings.Builder, i int) {
	one, n := r.Results[i], r.minutes()
	base := plotTop + rowHeight*i + plotHeight
	requests, answers := squeeze(padded(one.PerMinute, n), maxPoints), squeeze(padded(one.Answers, n), maxPoints)
	highest := slices.Max(slices.Concat([]int{1}, requests, answers))
	fmt.Fprintf(b, `<text x="10" y="%d">%s</text>`, base-8, html.EscapeString(one.Strategy.Name))
	fmt.Fprintf(b, `<text class="n" x="%d" y="%d">%s</text><text class="n" x="%d" y="%d">%s</text>`+"\n",
		pictureWidth-90, base-8, share(one.Answered, one.Calls), pictureWidth-10, base-8, count(highest))
	fmt.Fprintf(b, `<path class="r" d="M%d %d%sV%dz"/>`+"\n", plotLeft, base, steps(requests, base, highest), base)
	fmt.Fprintf(b, `<path class="k" d="M%d %s"/>`+"\n", plotLeft, strings.TrimPrefix(steps(answers, base, highest), "V"))
	fmt.Fprintf(b, `<path class="x" d="M%d %dh%d"/>`+"\n", plotLeft, base, plotWidth)
}

func steps(series []int, base, highest int) string {
	var b strings.Builder
	last := -1
	for k, v := range series {
		if v != last {
			if k > 0 {
				b.WriteString("H" + coordinate(plotLeft+float64(plotWidth*k)/float64(len(series))))
			}
			b.WriteString("V" + coordinate(float64(base)-float64(plotHeight*v)/float64(highest)))
		}
		last = v
	}
	b.WriteString("H" + strconv.Itoa(plotLeft+plotWidth))
	return b.String()
}
