package arch_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

const module = "github.com/ridethrough/ridethrough"

// tree is the Go sources of one module, in lexical order of their names.
type tree []source

// source is one Go file.
type source struct {
	name  string // slash-separated, from the module's root
	lines int
	set   *token.FileSet
	*ast.File
}

// read parses a module. It leaves out what belongs to others: nested modules,
// testdata, node_modules, and the directories that the go command ignores.
func read(module fs.FS) (tree, error) {
	var t tree
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && foreign(module, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || ignored(d.Name()):
			return nil
		}
		s, err := parse(module, name)
		t = append(t, s)
		return err
	})
	return t, err
}

// foreign reports whether the directory is not part of the module's own code.
func foreign(module fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	switch base := path.Base(dir); {
	case ignored(base), base == "testdata", base == "vendor", base == "node_modules":
		return true
	}
	_, err := fs.Stat(module, path.Join(dir, "go.mod"))
	return err == nil
}

func ignored(base string) bool { return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") }

func parse(module fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return source{}, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{name: name, lines: bytes.Count(text, []byte("\n")), set: set, File: file}, err
}

func (s source) pkg() string { return path.Dir(s.name) }
func (s source) test() bool  { return strings.HasSuffix(s.name, "_test.go") }

// at points at a node of the source and says what is wrong there.
func (s source) at(n ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", s.name, s.set.Position(n.Pos()).Line) + fmt.Sprintf(format, args...)
}

// imported is the path of an import.
func imported(i *ast.ImportSpec) string {
	p, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
	return p
}

// version is the last element of an import path that names a major version.
var version = regexp.MustCompile(`/v[0-9]+$`)

// locals are the imports by the name that the file calls them.
func (s source) locals() map[string]string {
	named := map[string]string{}
	for _, i := range s.Imports {
		name := path.Base(version.ReplaceAllString(imported(i), ""))
		if i.Name != nil {
			name = i.Name.Name
		}
		named[name] = imported(i)
	}
	return named
}

// mention is one use of a name of an imported package, such as time.Now.
type mention struct {
	ast.Node
	path, name string
}

// mentions lists what the file uses of the packages it imports.
func (s source) mentions() []mention {
	var all []mention
	locals := s.locals()
	for n := range ast.Preorder(s.File) {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if x, ok := sel.X.(*ast.Ident); ok && locals[x.Name] != "" {
			all = append(all, mention{sel, locals[x.Name], sel.Sel.Name})
		}
	}
	return all
}
