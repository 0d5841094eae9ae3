package yaml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// TestParse_AgreesWithALibrary compares with a library for all of YAML, which the configuration was read with before.
func TestParse_AgreesWithALibrary(t *testing.T) {
	texts := map[string]string{}
	for _, tt := range values {
		if strings.Contains(tt.want, "not allowed") || strings.ContainsAny(tt.text, "!") || strings.Contains(tt.text, "---\n---") {
			continue // the same mistake in other words; tags; and it ends at an empty document
		}
		texts[tt.text] = tt.text
	}
	for _, pattern := range []string{"lab/*.yaml", "lab/gallery/*.yaml", "operation/config/*.yaml", "../*.yaml", "../.*.yaml", "../.github/workflows/*", "../deploy/compose/*.yaml", "../charts/*/*.yaml", "../bench/peers/*"} {
		names, err := filepath.Glob("../" + pattern)
		if err != nil {
			t.Fatalf("glob: %v", err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("read %s: %v", name, err)
			}
			texts[name] = string(text)
		}
	}
	if len(texts) < len(values)+20 {
		t.Fatalf("got %d texts, want the files of the repository too", len(texts))
	}
	for name, text := range texts {
		if got, want := read(text, true), reference(t, text); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// reference returns the values of a text as the library reads them, in the form of shown.
func reference(t *testing.T, text string) string {
	t.Helper()
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var all []string
	for _, document := range file.Docs {
		if document.Body != nil {
			all = append(all, referenceValue(document.Body))
		}
	}
	return strings.Join(all, " --- ")
}

func referenceValue(n ast.Node) string {
	at := referencePlace(n)
	switch n := n.(type) {
	case *ast.MergeKeyNode:
		return at + `"<<"`
	case *ast.NullNode:
		return "null"
	case *ast.StringNode:
		return fmt.Sprintf("%s%q", at, n.Value)
	case *ast.LiteralNode:
		return fmt.Sprintf("%s%q", at, n.Value.Value)
	case *ast.SequenceNode:
		items := make([]string, len(n.Values))
		for i, v := range n.Values {
			items[i] = referenceValue(v)
		}
		return fmt.Sprintf("%s[%s]", at, strings.Join(items, ", "))
	case *ast.MappingNode:
		entries := make([]string, len(n.Values))
		for i, v := range n.Values {
			entries[i] = referenceValue(v.Key) + ": " + referenceValue(v.Value)
		}
		return fmt.Sprintf("%s{%s}", at, strings.Join(entries, ", "))
	case *ast.MappingValueNode:
		return fmt.Sprintf("%s{%s: %s}", at, referenceValue(n.Key), referenceValue(n.Value))
	case *ast.AnchorNode:
		place, value, _ := strings.Cut(referenceValue(n.Value), " ")
		return fmt.Sprintf("%s &%s %s", place, n.Name, value)
	case *ast.AliasNode:
		return fmt.Sprintf("%s*%s", at, n.Value)
	}
	return at + n.GetToken().Value
}

// referencePlace returns the position of a value.
func referencePlace(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return referencePlace(n.Values[0])
		}
	case *ast.MappingValueNode:
		return referencePlace(n.Key)
	case *ast.AnchorNode:
		return referencePlace(n.Value)
	}
	p := n.GetToken().Position
	return fmt.Sprintf("%d:%d ", p.Line, p.Column)
}
