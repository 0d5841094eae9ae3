package config

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ridethrough/ridethrough/internal/yaml"
)

// node is a value of the file. The rest of the package does not depend on YAML.
type node struct {
	pos
	kind    kind
	text    string // of a scalar
	items   []*node
	entries []entry
}

// entry is one line of a mapping.
type entry struct{ key, value *node }

// kind is the kind of a node.
type kind int

const (
	null kind = iota
	text
	number
	boolean
	sequence
	mapping
	broken // its error was reported
)

// String returns the kind as in errors.
func (k kind) String() string {
	return [...]string{"nothing", "a text", "a number", "true or false", "a list", "fields", "nothing"}[k]
}

// field returns the value of a field; nil: none.
func (n *node) field(name string) *node {
	for _, e := range n.entries {
		if e.key.text == name {
			return e.value
		}
	}
	return nil
}

// Limits of a file, far above what a real configuration needs.
const (
	maxBytes = 256 << 10
	maxNodes = 20_000 // aliases counted as often as they are used
)

// tree converts YAML to nodes.
type tree struct {
	source
	anchors map[string]anchored
	nodes   int
	faults  Errors
}

// anchored is a value with an anchor, and its number of nodes.
type anchored struct {
	*node
	size int
}

// parse parses YAML. The node is nil if the file is empty.
func parse(src source, data []byte) (*node, Errors) {
	t := &tree{source: src, anchors: map[string]anchored{}}
	if len(data) > maxBytes {
		return nil, Errors{src.fault(pos{}, "the file has %d bytes, more than the limit of %d", len(data), maxBytes)}
	}
	// A value in another one takes a part of the stack.
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("- ")) > maxNodes {
		return nil, Errors{src.fault(pos{}, "the file has more values than the limit of %d", maxNodes)}
	}
	documents, err := yaml.Parse(string(data))
	if err != nil {
		return nil, Errors{t.syntaxError(err)}
	}
	if len(documents) > 1 {
		return nil, Errors{src.fault(position(documents[1]), "a second document starts here; want one")}
	}
	if len(documents) == 0 {
		return nil, nil
	}
	return t.node(documents[0]), t.faults
}

// syntaxError converts an error of the parser.
func (t *tree) syntaxError(err error) *Error {
	e, ok := errors.AsType[*yaml.Error](err)
	if !ok {
		return t.fault(pos{}, "invalid YAML: %v", err)
	}
	message := e.Message
	if strings.Contains(message, "mapping value is not allowed") {
		message += "; a value with a colon and a space needs quotes"
	}
	return t.fault(pos{e.Line, e.Column}, "invalid YAML: %s", message)
}

// position returns the start of a value.
func position(n *yaml.Node) pos { return pos{n.Line, n.Column} }

func (t *tree) report(n *yaml.Node, format string, args ...any) {
	t.faults = append(t.faults, t.fault(position(n), format, args...))
}

// kinds are the kinds of the values that the parser has.
var kinds = map[yaml.Kind]kind{yaml.Null: null, yaml.Text: text, yaml.Number: number, yaml.Boolean: boolean, yaml.Sequence: sequence, yaml.Mapping: mapping}

// node converts a value. Its anchor is registered afterwards, so that no value contains itself.
func (t *tree) node(n *yaml.Node) *node {
	before := t.nodes
	made := &node{pos: position(n), kind: broken}
	switch {
	case !t.countNodes(n, 1):
		return made
	case n.Tag != "":
		t.report(n, "unsupported YAML value: tag")
		return made
	case n.Kind == yaml.Alias:
		return t.alias(n)
	}
	made.kind, made.text = kinds[n.Kind], n.Text
	made.items, made.entries = t.items(n), t.entries(n)
	if n.Anchor != "" {
		t.anchors[n.Anchor] = anchored{made, t.nodes - before}
	}
	return made
}

func (t *tree) items(n *yaml.Node) []*node {
	items := make([]*node, 0, len(n.Items))
	for _, v := range n.Items {
		items = append(items, t.node(v))
	}
	return items
}

func (t *tree) entries(n *yaml.Node) []entry {
	entries := make([]entry, 0, len(n.Entries))
	seen := make(map[string]int, len(n.Entries))
	for _, v := range n.Entries {
		if v.Key.Plain && v.Key.Text == "<<" {
			t.report(v.Key, "merge keys (<<) are not supported; use a preset or repeat the fields")
			continue
		}
		key := t.node(v.Key)
		if key.kind != text && key.kind != number && key.kind != boolean {
			t.report(v.Key, "a field name must be a text, not %s", key.kind)
			continue
		}
		if line := seen[key.text]; line > 0 {
			t.report(v.Key, "duplicate field %q, first on line %d", key.text, line)
			continue
		}
		seen[key.text] = key.line
		entries = append(entries, entry{key, t.node(v.Value)})
	}
	return entries
}

// alias returns a copy of the anchored value.
func (t *tree) alias(n *yaml.Node) *node {
	made := node{pos: position(n), kind: broken}
	value, ok := t.anchors[n.Text]
	switch {
	case !ok:
		t.report(n, "unknown anchor &%s", n.Text)
	case t.countNodes(n, value.size):
		made = *value.node
		made.pos = position(n)
	}
	return &made
}

// countNodes counts nodes and reports whether they are within the limit.
func (t *tree) countNodes(n *yaml.Node, count int) bool {
	enough := t.nodes > maxNodes
	t.nodes += count
	if t.nodes > maxNodes && !enough {
		t.report(n, "the file has more values than the limit of %d", maxNodes)
	}
	return t.nodes <= maxNodes
}
