package yaml

import "strings"

// indent returns how far the next character is indented.
func (p *parser) indent() int { return p.at - p.start }

// noTab ends the parsing if a tab is in front of a line of a collection.
func (p *parser) noTab() {
	indent := p.text[p.start:p.at]
	if i := strings.IndexByte(indent, '\t'); i >= 0 && strings.Trim(indent, " \t") == "" {
		p.at = p.start + i
		p.fail("tab; YAML is indented with spaces")
	}
}

// failIndent ends the parsing at a line that belongs to no collection.
func (p *parser) failIndent() {
	p.noTab()
	p.fail("value is not allowed in this context; it is indented differently from the lines before it")
}

// dash reports whether an item of a sequence begins here.
func (p *parser) dash() bool { return p.char(0) == '-' && p.blank(1) }

// colon skips space and reports whether the end of a key is next.
func (p *parser) colon() bool {
	p.skipSpace()
	return p.char(0) == ':' && p.blank(1)
}

// value reads the value behind a colon, a dash, a property that is not behind a colon (&), or the beginning
// of a document (0), of a collection that is indented so far. A collection of lines begins on a line of its
// own, or behind a dash.
func (p *parser) value(parent int, after byte) *Node {
	nothing := p.node(Null)
	broke := p.skip()
	if p.done() || p.marker() || broke && p.indent() <= parent && (after != ':' || p.indent() < parent || !p.dash()) {
		return nothing
	}
	ownLine := broke || after == '-' || after == 0
	switch {
	case p.dash() && !ownLine:
		p.fail("block sequence entries are not allowed in this context")
	case p.dash():
		p.noTab()
		return p.sequence(p.indent())
	case p.char(0) == '?' && p.blank(1):
		p.fail("keys that begin with ? are not supported")
	case ownLine && p.isKey():
		p.noTab()
		return p.mapping(p.indent())
	case p.char(0) == '&' || p.char(0) == '!':
		if after != ':' {
			after = '&'
		}
		return p.withProperty(func() *Node { return p.value(parent, after) })
	}
	return p.scalar(parent)
}

// withProperty reads an anchor or a tag, and the node that has it.
func (p *parser) withProperty(read func() *Node) *Node {
	at, kind := p.node(Null), p.char(0)
	p.at++
	name := p.name()
	n := read()
	switch {
	case kind == '!' && n.Tag != "":
		at.fail("tags cannot be used consecutively")
	case kind == '!':
		n.Tag, n.Line, n.Column = "!"+name, at.Line, at.Column
	case name == "":
		at.fail("an anchor needs a name")
	case n.Anchor != "":
		at.fail("anchors cannot be used consecutively")
	default:
		n.Anchor = name
	}
	return n
}

// name reads the name of an anchor or of a tag.
func (p *parser) name() string {
	from := p.at
	for !p.blank(0) && !isFlow(p.char(0)) {
		p.at++
	}
	return p.text[from:p.at]
}

// alias reads an alias.
func (p *parser) alias() *Node {
	n := p.node(Alias)
	p.at++
	if n.Text = p.name(); n.Text == "" {
		n.fail("an alias needs a name")
	}
	return n
}

// isKey reports whether the line begins with a key.
func (p *parser) isKey() bool {
	here := *p
	defer func() { *p = here }()
	n := p.key()
	return p.line == here.line && (n.Text != "" || !n.Plain) && p.colon()
}

// key reads a key, or what may be one.
func (p *parser) key() *Node {
	switch p.char(0) {
	case '&', '!':
		return p.withProperty(func() *Node { p.skipSpace(); return p.key() })
	case '*':
		return p.alias()
	case '"', '\'':
		return p.quoted()
	case '[', '{':
		return p.flow()
	}
	n := p.node(Text)
	if n.Plain = true; p.char(0) != '|' && p.char(0) != '>' {
		n.Text = p.plainLine(false)
	}
	n.Kind = kindOf(n.Text)
	return n
}

// mapping reads a mapping whose keys are indented so far.
func (p *parser) mapping(indent int) *Node {
	made := p.node(Mapping)
	for {
		key, line := p.key(), p.line
		if !p.colon() || key.Line < line {
			key.fail("non-map value is specified; a field has a colon and a space behind its name")
		}
		p.at++
		made.Entries = append(made.Entries, Entry{key, p.value(indent, ':')})
		made.Line, made.Column = made.Entries[0].Key.Line, made.Entries[0].Key.Column
		if !p.follows(indent) {
			return made
		}
	}
}

// sequence reads a sequence whose dashes are indented so far.
func (p *parser) sequence(indent int) *Node {
	made := p.node(Sequence)
	for {
		p.at++
		made.Items = append(made.Items, p.value(indent, '-'))
		if !p.follows(indent) || !p.dash() {
			return made
		}
	}
}

// follows reports whether another line of a collection follows that is indented so far.
func (p *parser) follows(indent int) bool {
	p.skip()
	if p.done() || p.marker() || p.indent() < indent {
		return false
	}
	if p.indent() > indent {
		p.failIndent()
	}
	return true
}

// scalar reads what is no collection of lines, inside of one that is indented so far.
func (p *parser) scalar(parent int) *Node {
	var n *Node
	switch c := p.char(0); c {
	case '"', '\'':
		n = p.quoted()
	case '[', '{':
		n = p.flow()
	case '*':
		n = p.alias()
	case '|', '>':
		return p.literal(parent)
	default:
		return p.plain(parent, false)
	}
	p.skipSpace()
	switch c := p.char(0); {
	case p.done() || c == '\n' || c == '#':
	case c == ':':
		n.fail("mapping value is not allowed in this context")
	default:
		p.fail("value is not allowed in this context")
	}
	return n
}
