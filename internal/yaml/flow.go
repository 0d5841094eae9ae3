package yaml

import "strings"

// isFlow reports whether a character is one of those that flow collections consist of.
func isFlow(c byte) bool { return c != 0 && strings.IndexByte(",[]{}", c) >= 0 }

// flow reads a sequence in brackets, or a mapping in braces.
func (p *parser) flow() *Node {
	made, end, missing := p.node(Sequence), byte(']'), "sequence end token ']' not found"
	if p.char(0) == '{' {
		made.Kind, end, missing = Mapping, '}', "could not find flow mapping end token '}'"
	}
	p.at++
	for {
		p.skip()
		switch c := p.char(0); {
		case p.done() || p.marker():
			made.fail("%s", missing)
		case c == end:
			p.at++
			return made
		case c == ',':
			p.fail("expected a value, but found ','")
		case made.Kind == Mapping:
			made.Entries = append(made.Entries, p.flowEntry(p.flowNode()))
		default:
			made.Items = append(made.Items, p.flowItem())
		}
		p.skip()
		switch {
		case p.done() || p.marker():
			made.fail("%s", missing)
		case p.char(0) == ',':
			p.at++
		case p.char(0) != end:
			p.fail("',' or '%c' must be specified", end)
		}
	}
}

// flowItem reads an item of a sequence in brackets: a value, or a mapping of one key.
func (p *parser) flowItem() *Node {
	n := p.flowNode()
	if !p.flowColon(n) {
		return n
	}
	return &Node{Kind: Mapping, Line: n.Line, Column: n.Column, Entries: []Entry{p.flowEntry(n)}}
}

// flowEntry reads the value of a key.
func (p *parser) flowEntry(key *Node) Entry {
	if !p.flowColon(key) {
		return Entry{key, p.node(Null)}
	}
	p.at++
	nothing := p.node(Null)
	if p.skip(); isFlow(p.char(0)) && p.char(0) != '[' && p.char(0) != '{' {
		return Entry{key, nothing}
	}
	return Entry{key, p.flowNode()}
}

// flowColon skips space and reports whether the end of a key is next. Behind a key in quotes no space is needed.
func (p *parser) flowColon(key *Node) bool {
	p.skip()
	return p.char(0) == ':' && (!key.Plain || p.blank(1) || isFlow(p.char(1)))
}

// flowNode reads a key or a value.
func (p *parser) flowNode() *Node {
	switch c := p.char(0); {
	case c == '&' || c == '!':
		return p.withProperty(func() *Node { p.skip(); return p.flowNode() })
	case c == '*':
		return p.alias()
	case c == '"' || c == '\'':
		return p.quoted()
	case c == '[' || c == '{':
		return p.flow()
	case c == '?' && p.blank(1):
		p.fail("keys that begin with ? are not supported")
	case isFlow(c) || c == ':' && p.blank(1):
		return p.node(Null)
	}
	return p.plain(-1, true)
}
