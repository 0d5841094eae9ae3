// Package yaml reads YAML 1.2 into nodes that know where they are, for errors with a line and a column. It reads what
// people write in settings: block and flow collections, all forms of texts, comments, anchors and aliases. It has no
// tags beside their names, no directives and no keys that begin with `? `, and writes nothing.
//
// Package config gives the nodes a meaning. A library for all of YAML is nine times this package's size in a program.
package yaml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Node is a value of a file.
type Node struct {
	Kind         Kind
	Line, Column int     // of its first character, from 1
	Text         string  // of a scalar; of an alias the name of its anchor
	Plain        bool    // a scalar without quotes
	Items        []*Node // of a sequence
	Entries      []Entry // of a mapping
	Anchor, Tag  string  // its properties; "": none
}

// Entry is one key of a mapping, with its value.
type Entry struct{ Key, Value *Node }

// Kind is the kind of a node.
type Kind int

// The kinds. A plain scalar is what it looks like, and any other one is a text.
const (
	Null Kind = iota
	Text
	Number
	Boolean
	Sequence
	Mapping
	Alias
)

// Error is a mistake in a file.
type Error struct {
	Line, Column int
	Message      string
}

// Error returns the position and the message.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Parse returns the documents of a file; empty ones are left out. The error is an [Error]. A nested value is read
// by recursion, so the caller bounds the length of the text.
func Parse(text string) (documents []*Node, err error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	p := &parser{text: text, line: 1}
	defer func() {
		switch wrong := recover().(type) {
		case nil:
		case *Error:
			documents, err = nil, wrong
		default:
			panic(wrong)
		}
	}()
	return p.documents(), nil
}

// parser is a place in a text. Its methods end with a panic of an *Error, which Parse returns.
type parser struct {
	text  string
	at    int // the next byte
	line  int // from 1
	start int // the line's first byte

	counted, column int // of the line's first bytes, their number of characters: a long line is counted once
}

// fail ends the parsing with an error about a node.
func (n *Node) fail(format string, args ...any) {
	panic(&Error{n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// fail ends the parsing with an error about the next character.
func (p *parser) fail(format string, args ...any) { p.node(Null).fail(format, args...) }

// node returns a node that begins with the next character.
func (p *parser) node(kind Kind) *Node {
	if p.counted < p.start || p.counted > p.at {
		p.counted, p.column = p.start, 0
	}
	p.column += utf8.RuneCountInString(p.text[p.counted:p.at])
	p.counted = p.at
	return &Node{Kind: kind, Line: p.line, Column: p.column + 1}
}

// done reports whether the text has ended.
func (p *parser) done() bool { return p.at >= len(p.text) }

// char returns the character at an offset from the next one; 0: the text ends before it.
func (p *parser) char(offset int) byte {
	if p.at+offset >= len(p.text) {
		return 0
	}
	return p.text[p.at+offset]
}

// blank reports whether a space, the end of the line or of the text is at an offset from the next character.
func (p *parser) blank(offset int) bool {
	return p.at+offset >= len(p.text) || strings.IndexByte(" \t\n", p.text[p.at+offset]) >= 0
}

// newLine goes on behind a line's end, which is the next character.
func (p *parser) newLine() {
	p.at++
	p.line++
	p.start = p.at
}

// skipSpace skips spaces and tabs.
func (p *parser) skipSpace() {
	for p.char(0) == ' ' || p.char(0) == '\t' {
		p.at++
	}
}

// skip skips space, comments and ends of lines, and reports whether there was an end of a line.
func (p *parser) skip() (broke bool) {
	for {
		p.skipSpace()
		switch p.char(0) {
		case '#':
			p.at += lineLength(p.text[p.at:])
		case '\n':
			p.newLine()
			broke = true
		default:
			return broke
		}
	}
}

// lineLength returns the length of a text's first line.
func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// marker reports whether the line begins with a document's begin or end.
func (p *parser) marker() bool {
	return p.at == p.start && (strings.HasPrefix(p.text[p.at:], "---") || strings.HasPrefix(p.text[p.at:], "...")) && p.blank(3)
}

// documents reads all documents.
func (p *parser) documents() (all []*Node) {
	for p.skip(); !p.done(); p.skip() {
		after := byte(0)
		switch {
		case p.marker() && p.char(0) == '.':
			p.at += 3
			continue
		case p.marker():
			p.at += 3
			after = ':' // a collection begins on a line of its own
		case p.char(0) == '%' && p.at == p.start:
			p.fail("directives (%%) are not supported")
		}
		if n := p.value(-1, after); n.Kind != Null || n.Text != "" {
			all = append(all, n)
		}
		if p.skip(); !p.done() && !p.marker() {
			p.failIndent()
		}
	}
	return all
}
