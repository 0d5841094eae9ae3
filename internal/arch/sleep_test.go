package arch_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// realSleeps refuses a test that can reach time.Sleep outside a bubble of
// testing/synctest. It follows calls within a package by name, so a method
// stands for every method of that name.
func realSleeps(t tree) (broken []string) {
	tests := map[string][]source{}
	for _, s := range t {
		if s.test() {
			tests[s.pkg()] = append(tests[s.pkg()], s)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		g := newCallGraph(tests[pkg])
		for _, name := range slices.Sorted(maps.Keys(g.funcs)) {
			if isEntry(name) && name != "TestMain" { // which is also the main of processes that tests start
				broken = append(broken, g.sleepsFrom(name)...)
			}
		}
	}
	return broken
}

// isEntry reports whether the test runner calls a function of this name.
func isEntry(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Fuzz", "Benchmark", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// callGraph is the functions of a package's tests and what they mention outside of bubbles.
type callGraph struct {
	funcs   map[string][]*callNode // by name; methods of several types may share one
	bubbles map[string]bool        // functions that run a function they are given in a bubble
}

type callNode struct {
	source   source
	decl     *ast.FuncDecl
	receiver string   // the type of a method
	mentions []string // names, of functions and types among others
	sleeps   []ast.Node
}

func newCallGraph(files []source) callGraph {
	g := callGraph{funcs: map[string][]*callNode{}, bubbles: map[string]bool{}}
	for _, s := range files {
		for _, d := range s.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				g.funcs[f.Name.Name] = append(g.funcs[f.Name.Name], &callNode{source: s, decl: f, receiver: receiverType(f)})
			}
		}
	}
	g.findBubbles()
	for _, nodes := range g.funcs {
		for _, n := range nodes {
			g.fill(n)
		}
	}
	return g
}

// findBubbles adds the functions that hand a parameter of theirs to a bubble,
// directly or through another one that does.
func (g callGraph) findBubbles() {
	before := len(g.bubbles)
	for name, nodes := range g.funcs {
		for _, n := range nodes {
			params := funcParams(n.decl)
			for call := range ast.Preorder(n.decl.Body) {
				if c, ok := call.(*ast.CallExpr); ok && g.isBubble(n.source, c) && mentionsAny(c, params) {
					g.bubbles[name] = true
				}
			}
		}
	}
	if len(g.bubbles) > before {
		g.findBubbles()
	}
}

// funcParams returns the names of the parameters whose type is, or holds, a function.
func funcParams(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			names[name.Name] = true
		}
	}
	delete(names, "t")
	delete(names, "b")
	return names
}

func mentionsAny(n ast.Node, names map[string]bool) bool {
	for child := range ast.Preorder(n) {
		if id, ok := child.(*ast.Ident); ok && names[id.Name] {
			return true
		}
	}
	return false
}

// isBubble reports whether a call runs its arguments in a bubble.
func (g callGraph) isBubble(s source, c *ast.CallExpr) bool {
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && s.locals()[x.Name] == "testing/synctest" || g.bubbles[f.Sel.Name]
	case *ast.Ident:
		return g.bubbles[f.Name]
	}
	return false
}

// fill notes what a function mentions and where it sleeps, outside of bubbles.
// Where a function has a bubble, the functions that it keeps as values, such as
// those of a table, are taken to run there.
func (g callGraph) fill(n *callNode) {
	locals, values := n.source.locals(), g.values(n)
	ast.Inspect(n.decl.Body, func(child ast.Node) bool {
		switch c := child.(type) {
		case *ast.FuncLit:
			return !values[c]
		case *ast.CallExpr:
			return !g.isBubble(n.source, c)
		case *ast.SelectorExpr:
			if x, ok := c.X.(*ast.Ident); ok && locals[x.Name] == "time" && c.Sel.Name == "Sleep" {
				n.sleeps = append(n.sleeps, c)
			}
			n.mentions = append(n.mentions, c.Sel.Name)
		case *ast.Ident:
			n.mentions = append(n.mentions, c.Name)
		}
		return true
	})
}

// values returns the function literals that a function with a bubble keeps as values.
func (g callGraph) values(n *callNode) map[*ast.FuncLit]bool {
	kept, bubble := map[*ast.FuncLit]bool{}, false
	keep := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			if f, ok := e.(*ast.FuncLit); ok {
				kept[f] = true
			}
		}
	}
	for child := range ast.Preorder(n.decl.Body) {
		switch c := child.(type) {
		case *ast.CallExpr:
			bubble = bubble || g.isBubble(n.source, c)
		case *ast.AssignStmt:
			keep(c.Rhs...)
		case *ast.CompositeLit:
			keep(c.Elts...)
		}
	}
	if !bubble {
		return nil
	}
	return kept
}

// sleepsFrom lists the sleeps that an entry reaches and no earlier one has
// reached. A method is reached when its name is mentioned and its type is, too.
func (g callGraph) sleepsFrom(entry string) (broken []string) {
	mentioned, reached := map[string]bool{entry: true}, map[*callNode]bool{}
	for grew := true; grew; {
		grew = false
		for name := range mentioned {
			for _, n := range g.funcs[name] {
				if reached[n] || n.receiver != "" && !mentioned[n.receiver] {
					continue
				}
				reached[n], grew = true, true
				for _, m := range n.mentions {
					mentioned[m] = true
				}
				broken = append(broken, n.report(entry)...)
			}
		}
	}
	return broken
}

// report lists the sleeps of a function, once.
func (n *callNode) report(entry string) (broken []string) {
	for _, s := range n.sleeps {
		broken = append(broken, n.source.at(s, "time.Sleep outside a bubble of testing/synctest, in %s", entry))
	}
	n.sleeps = nil
	return broken
}

// receiverType returns the name of a method's type; "": it is a function.
func receiverType(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	id, _ := t.(*ast.Ident)
	return id.Name
}
