package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is a value of the file. The rest of the package does not depend on YAML.
type node struct {
	pos
	kind    kind
	text    string // of a scalar
	items   []*node
	entries []entry
}

type entry struct{ key, value *node }

type kind int

const (
	null kind = iota
	words
	number
	boolean
	sequence
	mapping
	broken // its error was reported
)

func (k kind) String() string {
	return [...]string{"nothing", "a text", "a number", "true or false", "a list", "fields", "nothing"}[k]
}

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

type tree struct {
	source
	anchors map[string]anchored
	nodes   int
	faults  Errors
}

type anchored struct {
	*node
	size int
}

func parse(src source, data []byte) (*node, Errors) {
	t := &tree{source: src, anchors: map[string]anchored{}}
	if len(data) > maxBytes {
		return nil, Errors{src.fault(pos{}, "the file has %d bytes, more than the limit of %d", len(data), maxBytes)}
	}
	// The parser's time grows with the square of the nesting depth.
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("- ")) > maxNodes {
		return nil, Errors{src.fault(pos{}, "the file has more values than the limit of %d", maxNodes)}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Errors{t.syntaxError(err)}
	}
	var root *node
	for _, doc := range file.Docs {
		_, directive := doc.Body.(*ast.DirectiveNode)
		switch {
		case doc.Body == nil:
		case directive:
			return nil, Errors{src.fault(position(doc.Body), "invalid YAML: directives (%%) are not supported")}
		case root != nil:
			return nil, Errors{src.fault(position(doc.Body), "a second document starts here; want one")}
		default:
			root = t.node(doc.Body)
		}
	}
	return root, t.faults
}

func (t *tree) syntaxError(err error) *Error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return t.fault(pos{}, "invalid YAML: %v", err)
	}
	message := e.GetMessage()
	switch {
	case strings.Contains(message, "mapping value is not allowed"):
		message += "; a value with a colon and a space needs quotes"
	case strings.Contains(message, `'	'`):
		message = "tab; YAML is indented with spaces"
	case strings.Contains(message, "is a reserved character"):
		message += "; a text that begins with it needs quotes"
	}
	return t.fault(place(e.GetToken()), "invalid YAML: %s", message)
}

func place(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{}
	}
	return pos{t.Position.Line, t.Position.Column}
}

func position(n ast.Node) pos {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return position(n.Values[0])
		}
	case *ast.MappingValueNode:
		return position(n.Key)
	case *ast.AnchorNode:
		return position(n.Value)
	}
	return place(n.GetToken())
}

func (t *tree) report(n ast.Node, format string, args ...any) {
	t.faults = append(t.faults, t.fault(position(n), format, args...))
}

func (t *tree) node(n ast.Node) *node {
	made := &node{pos: position(n)}
	if !t.countNodes(n, 1) {
		made.kind = broken
		return made
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		made.kind, made.text = words, n.Value
	case *ast.LiteralNode:
		made.kind, made.text = words, n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		made.kind, made.text = number, n.GetToken().Value
	case *ast.BoolNode:
		made.kind, made.text = boolean, n.GetToken().Value
	case *ast.SequenceNode:
		made.kind, made.items = sequence, t.items(n)
	case *ast.MappingNode:
		made.kind, made.entries = mapping, t.entries(n.Values, !n.IsFlowStyle)
	case *ast.MappingValueNode:
		made.kind, made.entries = mapping, t.entries([]*ast.MappingValueNode{n}, true)
	case *ast.AnchorNode:
		return t.anchor(n)
	case *ast.AliasNode:
		return t.alias(n)
	default:
		t.report(n, "unsupported YAML value: %s", strings.ToLower(fmt.Sprint(n.Type())))
		made.kind = broken
	}
	return made
}

func (t *tree) items(n *ast.SequenceNode) []*node {
	items := make([]*node, 0, len(n.Values))
	for _, v := range n.Values {
		items = append(items, t.node(v))
	}
	return items
}

// entries converts the lines of a mapping. In a block, values must be indented below their keys; the parser does
// not check that.
func (t *tree) entries(values []*ast.MappingValueNode, block bool) []entry {
	entries := make([]entry, 0, len(values))
	seen := make(map[string]int, len(values))
	for _, v := range values {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			t.report(v.Key, "merge keys (<<) are not supported; use a preset or repeat the fields")
			continue
		}
		if _, ok := v.Key.(*ast.MappingKeyNode); ok {
			t.report(v.Key, "invalid YAML: keys that begin with ? are not supported")
			continue
		}
		key := t.node(v.Key)
		if key.kind != words && key.kind != number && key.kind != boolean {
			t.report(v.Key, "a field name must be a text, not %s", key.kind)
			continue
		}
		if line := seen[key.text]; line > 0 {
			t.report(v.Key, "duplicate field %q, first on line %d", key.text, line)
			continue
		}
		seen[key.text] = key.line
		value := t.node(v.Value)
		if block && value.line > key.line && value.column <= key.column && value.kind != sequence && value.kind != null {
			t.report(v.Value, "invalid YAML: a value below its key must be indented")
		}
		entries = append(entries, entry{key, value})
	}
	return entries
}

// anchor converts a value and registers its anchor only afterwards, so that no value contains itself.
func (t *tree) anchor(n *ast.AnchorNode) *node {
	before := t.nodes
	made := t.node(n.Value)
	t.anchors[n.Name.String()] = anchored{made, t.nodes - before}
	return made
}

func (t *tree) alias(n *ast.AliasNode) *node {
	made := node{pos: position(n), kind: broken}
	value, ok := t.anchors[n.Value.String()]
	switch {
	case !ok:
		t.report(n, "unknown anchor &%s", n.Value)
	case t.countNodes(n, value.size):
		made = *value.node
		made.pos = position(n)
	}
	return &made
}

func (t *tree) countNodes(n ast.Node, count int) bool {
	enough := t.nodes > maxNodes
	t.nodes += count
	if t.nodes > maxNodes && !enough {
		t.report(n, "the file has more values than the limit of %d", maxNodes)
	}
	return t.nodes <= maxNodes
}
