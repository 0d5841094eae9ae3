package tui

import (
	"bufio"
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	markup "github.com/yuin/goldmark/renderer/html"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

type style uint8

const (
	bold style = 1 << iota
	italic
	strikethrough
	code
)

func (m markdown) styled(text string, s style) string {
	if !m.paint.color || s == 0 || text == "" {
		return text
	}
	var a ansi.Style
	if s&bold != 0 {
		a = a.Bold()
	}
	if s&italic != 0 {
		a = a.Italic(true)
	}
	if s&strikethrough != 0 {
		a = a.Strikethrough(true)
	}
	if s&code != 0 {
		a = a.ForegroundColor(m.paint.foreground(cyan).GetForeground())
	}
	return a.Styled(text)
}

// bareURL is an address in the text, without the punctuation after it: nothing in it counts as a mark.
var bareURL = regexp.MustCompile("^https?://[^\\s<>`\"|]*[^\\s<>`\"|?!.,:;*_~'()\\[\\]]")

type span struct {
	text  string
	style style
}

func (d document) inline(n ast.Node, base style) string {
	var all strings.Builder
	spans := d.spans(n, base)
	for i := 0; i < len(spans); {
		same := spans[i]
		for i++; i < len(spans) && spans[i].style == same.style; i++ {
			same.text += spans[i].text
		}
		all.WriteString(d.styled(same.text, same.style))
	}
	return all.String()
}

// spans are the parts of a node's content. The address of a link is shown, since a terminal does not show where a
// click leads.
func (d document) spans(parent ast.Node, s style) (all []span) {
	add := func(text string) { all = append(all, span{text, s}) }
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			add(unescape(n.Value(d.source)))
			switch {
			case n.HardLineBreak():
				add("\n")
			case n.SoftLineBreak():
				add(" ")
			}
		case *ast.CodeSpan:
			all = append(all, d.codeSpan(n, s))
		case *ast.Emphasis:
			all = append(all, d.spans(n, s|[]style{1: italic, 2: bold}[n.Level])...)
		case *extast.Strikethrough:
			all = append(all, d.spans(n, s|strikethrough)...)
		case *ast.Link:
			all = append(all, d.link(n, string(n.Destination), s)...)
		case *ast.Image:
			add("image: ")
			all = append(all, d.link(n, string(n.Destination), s)...)
		case *ast.AutoLink:
			add(string(n.Label(d.source)))
		case *ast.RawHTML:
			add(strings.ReplaceAll(string(n.Segments.Value(d.source)), "\n", " "))
		}
	}
	return all
}

// link is the text of a link or an image, and its address unless the text is the address.
func (d document) link(n ast.Node, address string, s style) []span {
	all := d.spans(n, s)
	if address == "" || len(all) == 1 && all[0].text == address {
		return all
	}
	return append(all, span{" (" + address + ")", s})
}

// codeSpan is code in a line. Without colors its marks stay.
func (d document) codeSpan(n *ast.CodeSpan, s style) span {
	var text strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		text.Write(c.(*ast.Text).Value(d.source))
	}
	line := strings.ReplaceAll(text.String(), "\n", " ")
	if d.paint.color {
		return span{line, s | code}
	}
	before := d.source[:n.FirstChild().(*ast.Text).Segment.Start]
	unpadded := bytes.TrimSuffix(before, []byte(" "))
	pad := string(before[len(unpadded):])
	mark := string(unpadded[len(bytes.TrimRight(unpadded, "`")):])
	return span{mark + pad + line + pad + mark, s}
}

// unescape resolves escapes and entities. An entity may stand for a control character.
func unescape(text []byte) string {
	if !bytes.ContainsAny(text, `\&`) {
		return string(text)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	markup.DefaultWriter.Write(w, text)
	_ = w.Flush() // a buffer takes everything
	return printable.Text(strings.NewReplacer("\n", " ", "\t", " ").Replace(html.UnescapeString(b.String())))
}
