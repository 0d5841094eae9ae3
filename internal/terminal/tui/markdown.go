package tui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// markdown renders Markdown for a terminal: CommonMark with tables and strikethrough, close to its
// source, since nothing may be lost. HTML and the addresses of links are shown as they are.
type markdown struct {
	paint  palette
	parser parser.Parser
}

// Bounds of nesting. Deeper blocks are not indented.
const (
	maxNesting   = 12
	minNestWidth = 5
)

// newMarkdown returns a renderer. Without colors emphasis keeps its marks. Definitions of links stay as text: the
// references may be in another block.
func newMarkdown(paint palette) markdown {
	inlines := []util.PrioritizedValue{
		util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewRawHTMLParser(), 400),
		util.Prioritized(extension.NewLinkifyParser(extension.WithLinkifyURLRegexp(bareURL)), 999),
	}
	if paint.color {
		inlines = append(inlines, util.Prioritized(parser.NewEmphasisParser(), 500), util.Prioritized(extension.NewStrikethroughParser(), 500))
	}
	blocks := append(parser.DefaultBlockParsers(),
		util.Prioritized(setext{parser.NewSetextHeadingParser()}, 99), util.Prioritized(fences{parser.NewFencedCodeBlockParser()}, 98))
	return markdown{paint, parser.NewParser(
		parser.WithBlockParsers(slices.Delete(blocks, 0, 1)...), parser.WithInlineParsers(inlines...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)}
}

// setext parses headings that are underlined. A single dash is the start of a list that is still streaming.
type setext struct{ parser.BlockParser }

func (s setext) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := reader.PeekLine(); len(strings.TrimSpace(string(line))) < 2 {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// fences parses fenced code. Its fences may be indented as far as a list, which models forget for one of the two.
type fences struct{ parser.BlockParser }

func (fences) CanAcceptIndentedLine() bool { return true }

func (f fences) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	line, _ := reader.PeekLine()
	if fenceAfter(fenceOf(string(reader.Source()[node.Pos():])), string(line)) == "" {
		reader.AdvanceToEOL()
		return parser.Close
	}
	return f.BlockParser.Continue(node, reader, pc)
}

// render renders a block as lines narrower than width columns, without blank lines around them.
func (m markdown) render(source string, width int) []string {
	lines := strings.Split(printable.Text(source), "\n")
	for i, line := range lines {
		lines[i] = expandTabs(line)
	}
	doc := document{m, []byte(completeRule(strings.Join(lines, "\n")))}
	return trimBlank(doc.blocks(m.parser.Parse(text.NewReader(doc.source)), max(1, width), 0))
}

type document struct {
	markdown
	source []byte
}

func (d document) blocks(parent ast.Node, width, depth int) (lines []string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if len(lines) > 0 && (n.HasBlankPreviousLines() || n.Kind() == extast.KindTable) { // of a table the parser does not know
			lines = append(lines, "")
		}
		lines = append(lines, d.block(n, width, depth)...)
	}
	return lines
}

func (d document) block(n ast.Node, width, depth int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrapLines(d.styled(strings.Repeat("#", n.Level)+" ", bold)+d.inline(n, bold), width)
	case *ast.ThematicBreak:
		return []string{d.rule(min(8, max(1, width-1)))}
	case *ast.FencedCodeBlock:
		return d.code(d.highlight(d.raw(n), string(n.Language(d.source))), width)
	case *ast.CodeBlock:
		return d.code(d.highlight(d.raw(n), ""), width)
	case *ast.HTMLBlock:
		end := ""
		if n.HasClosure() {
			end = string(n.ClosureLine.Value(d.source))
		}
		return wrapLines(d.raw(n)+end, width)
	case *ast.Blockquote:
		bar := d.paint.encode("│ ")
		return d.nested(n, bar, bar, width, depth)
	case *ast.List:
		return d.blocks(n, width, depth)
	case *ast.ListItem:
		mark := d.marker(n)
		return d.nested(n, mark, strings.Repeat(" ", lipgloss.Width(mark)), width, depth)
	case *extast.Table:
		return d.table(n, width)
	}
	return wrapLines(d.inline(n, 0), width)
}

func (d document) raw(n ast.Node) string { return string(n.Lines().Value(d.source)) }

func (m markdown) rule(width int) string { return m.paint.faint(strings.Repeat("─", width)) }

func (d document) marker(n *ast.ListItem) string {
	list := n.Parent().(*ast.List)
	if !list.IsOrdered() {
		return d.paint.encode("• ")
	}
	number := list.Start
	for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
		number++
	}
	return fmt.Sprintf("%d%c ", number, list.Marker)
}

// code indents lines of code. It wraps them, since truncated code is useless.
func (d document) code(source string, width int) (lines []string) {
	before := strings.Repeat(" ", min(2, width/4))
	for line := range strings.SplitSeq(strings.TrimSuffix(source, "\n"), "\n") {
		for _, l := range wrapLines(line, width-len(before)) {
			lines = append(lines, strings.TrimRight(before+l, " "))
		}
	}
	return lines
}

// nested renders blocks with one prefix before their first line and one before the others. If the terminal is too
// narrow, the first prefix gets its own line.
func (d document) nested(n ast.Node, first, others string, width, depth int) []string {
	inner := width - lipgloss.Width(first)
	if depth == maxNesting || inner < minNestWidth {
		return append(wrapLines(strings.TrimRight(first, " "), width), d.blocks(n, width, depth)...)
	}
	lines := d.blocks(n, inner, depth+1)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(first+line, " ")
		first = others
	}
	return lines
}

// wrapLines wraps a text into lines narrower than width columns, at words if possible.
func wrapLines(text string, width int) []string {
	return wrapTo(strings.TrimSuffix(text, "\n"), width-1)
}

// wrapTo wraps a text into lines of at most width columns.
func wrapTo(text string, width int) []string {
	width = max(2, width) // the widest character
	var lines []string
	for line := range strings.SplitSeq(lipgloss.Wrap(text, width, ""), "\n") {
		lines = append(lines, fitted(strings.TrimLeft(line, "\ufe0f\u20e3"), width)...) // their letter is at the end of the line before
	}
	return lines
}

// fitted breaks a line that is wider than it was wrapped to: lipgloss wraps as if a letter with a variation
// selector, such as an emoji, had one column.
func fitted(line string, width int) []string {
	tooWide := func(line string) bool { return lipgloss.Width(line) > width }
	pieces := []string{line}
	for limit := width; limit > 0 && slices.ContainsFunc(pieces, tooWide); limit-- {
		pieces = strings.Split(ansi.Hardwrap(line, limit, true), "\n")
	}
	return pieces
}

func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func expandTabs(line string) string {
	for {
		before, after, found := strings.Cut(line, "\t")
		if !found {
			return line
		}
		line = before + strings.Repeat(" ", 4-lipgloss.Width(before)%4) + after
	}
}
