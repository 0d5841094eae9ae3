package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// A rule answers with what breaks it, one line each, and with nothing if all
// is well.
type rule func(tree) []string

// row is one package of the house.
type row struct {
	floor int
	path  string
	uses  string // the project's packages it may import, apart from tests
	parts string // the third-party modules it may import
}

// clock is the permission to use one of package time's timers.
type clock struct{ path, name, reason string }

// rules returns all rules by name.
func rules(house []row, words map[string]string, clocks []clock) map[string]rule {
	return map[string]rule{
		"every package has a row":            rows(house),
		"rows only go down":                  func(tree) []string { return descends(house) },
		"imports keep to the row":            imports(house),
		"imports show by name":               each(dots),
		"floor 0 computes":                   vocabulary(house, words),
		"one package waits":                  waits(clocks),
		"no exported state":                  each(state),
		"no func init":                       each(inits),
		"packages say why they exist":        comments,
		"tests sleep in virtual time":        realSleeps,
		"a file is at most 420 lines":        shipped(long),
		"an interface has at most 5 methods": shipped(interfaces),
	}
}

// each makes a rule about files a rule about trees.
func each(broken func(source) []string) rule {
	return func(t tree) (all []string) {
		for _, s := range t {
			all = append(all, broken(s)...)
		}
		return all
	}
}

// shipped is each, without the tests.
func shipped(broken func(source) []string) rule {
	return each(func(s source) []string {
		if s.test() {
			return nil
		}
		return broken(s)
	})
}

// rows wants one row for each package and a package for each row.
func rows(house []row) rule {
	return func(t tree) (broken []string) {
		homeless := map[string]bool{}
		for _, s := range t {
			homeless[s.pkg()] = true
		}
		for _, r := range house {
			if !homeless[r.path] {
				broken = append(broken, r.path+": a row without a package, or a second row")
			}
			delete(homeless, r.path)
		}
		for _, p := range slices.Sorted(maps.Keys(homeless)) {
			broken = append(broken, p+": a package without a row")
		}
		return broken
	}
}

// descends wants the rows in the order of the floors, each with uses from
// above it in the table, and third-party parts from floor 2 on.
func descends(house []row) (broken []string) {
	floor, above := 0, map[string]bool{}
	for _, r := range house {
		if r.floor < floor {
			broken = append(broken, fmt.Sprintf("%s: floor %d stands after floor %d", r.path, r.floor, floor))
		}
		if r.floor < 2 && r.parts != "" {
			broken = append(broken, fmt.Sprintf("%s: floor %d has third-party parts", r.path, r.floor))
		}
		for used := range strings.FieldsSeq(r.uses) {
			if !above[used] {
				broken = append(broken, r.path+": uses "+used+", which is not above it")
			}
		}
		floor, above[r.path] = r.floor, true
	}
	return broken
}

// imports wants what is shipped to import the standard library and what its
// row names. A package without a row may import nothing else.
func imports(house []row) rule {
	of := map[string]row{}
	for _, r := range house {
		of[r.path] = r
	}
	return shipped(func(s source) (broken []string) {
		for _, i := range s.Imports {
			if !of[s.pkg()].allows(imported(i)) {
				broken = append(broken, s.at(i, "%s may not import %s", s.pkg(), imported(i)))
			}
		}
		return broken
	})
}

func (r row) allows(imported string) bool {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		return slices.Contains(strings.Fields(r.uses), strings.TrimPrefix(imported, module+"/"))
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return imported != "C"
	}
	return slices.ContainsFunc(strings.Fields(r.parts), func(part string) bool {
		return imported == part || strings.HasPrefix(imported, part+"/")
	})
}

// dots wants no dot imports: the rules below could not see through them.
func dots(s source) (broken []string) {
	for _, i := range s.Imports {
		if i.Name != nil && i.Name.Name == "." {
			broken = append(broken, s.at(i, "dot import of %s", imported(i)))
		}
	}
	return broken
}

// vocabulary wants floor 0 to use the listed names only, and no concurrency.
func vocabulary(house []row, words map[string]string) rule {
	ground := map[string]bool{}
	for _, r := range house {
		ground[r.path] = r.floor == 0
	}
	return shipped(func(s source) []string {
		if !ground[s.pkg()] {
			return nil
		}
		return slices.Concat(forbidden(s, words), concurrent(s))
	})
}

// forbidden lists the names that floor 0 may not use.
func forbidden(s source, words map[string]string) (broken []string) {
	for _, i := range s.Imports {
		if p := imported(i); words[p] == "" && !strings.HasPrefix(p, module+"/") {
			broken = append(broken, s.at(i, "floor 0 may not use %s", p))
		}
	}
	for _, m := range s.mentions() {
		if said := words[m.path]; said != "" && !matches(said, m.name) {
			broken = append(broken, s.at(m, "floor 0 may not use %s.%s", m.path, m.name))
		}
	}
	return broken
}

func matches(patterns, name string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// concurrent lists the goroutines and channels of a file.
func concurrent(s source) (broken []string) {
	for n := range ast.Preorder(s.File) {
		switch n.(type) {
		case *ast.GoStmt:
			broken = append(broken, s.at(n, "floor 0 starts a goroutine"))
		case *ast.ChanType, *ast.SelectStmt:
			broken = append(broken, s.at(n, "floor 0 uses a channel"))
		}
	}
	return broken
}

// timers are the names of package time that make a caller wait.
const timers = "Sleep After AfterFunc NewTimer NewTicker Tick"

// waits wants a clock for every timer that is shipped, and no unused clock.
func waits(clocks []clock) rule {
	return func(t tree) (broken []string) {
		used := map[clock]bool{}
		broken = shipped(func(s source) (broken []string) {
			for _, m := range s.mentions() {
				if m.path != "time" || !matches(timers, m.name) {
					continue
				}
				i := slices.IndexFunc(clocks, func(c clock) bool { return c.path == s.pkg() && c.name == m.name })
				if i < 0 {
					broken = append(broken, s.at(m, "time.%s: only package retry waits; another clock says what for", m.name))
					continue
				}
				used[clocks[i]] = true
			}
			return broken
		})(t)
		for _, c := range clocks {
			if !used[c] {
				broken = append(broken, fmt.Sprintf("%s: a clock in vain, it does not use time.%s", c.path, c.name))
			}
		}
		return broken
	}
}

// state wants no variable that another package could change, but for errors.
func state(s source) (broken []string) {
	for _, d := range s.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || s.test() {
			continue
		}
		for _, spec := range g.Specs {
			for _, id := range spec.(*ast.ValueSpec).Names {
				if id.IsExported() && !strings.HasPrefix(id.Name, "Err") {
					broken = append(broken, s.at(id, "exported variable %s", id.Name))
				}
			}
		}
	}
	return broken
}

// inits wants nothing to happen before main.
func inits(s source) (broken []string) {
	for _, d := range s.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			broken = append(broken, s.at(f, "func init"))
		}
	}
	return broken
}

// comments wants a package comment in every package.
func comments(t tree) (broken []string) {
	said, files := map[string]string{}, map[string]int{}
	for _, s := range t {
		said[s.pkg()] += ""
		if !s.test() {
			said[s.pkg()] += s.Doc.Text()
			files[s.pkg()]++
		}
	}
	for _, p := range slices.Sorted(maps.Keys(said)) {
		switch {
		case said[p] == "":
			broken = append(broken, p+": no package comment")
		case files[p] > 15 && !strings.Contains(strings.Join(strings.Fields(said[p]), " "), "many files"):
			broken = append(broken, fmt.Sprintf("%s: %d files, and its comment does not say why it has many files", p, files[p]))
		}
	}
	return broken
}

// long wants files that hold one idea.
func long(s source) []string {
	if s.lines <= 420 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d lines", s.name, s.lines)}
}

// interfaces wants interfaces that a fake can implement in a few lines. Embedded ones count as one method.
func interfaces(s source) (broken []string) {
	for n := range ast.Preorder(s.File) {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if i, ok := t.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > 5 {
			broken = append(broken, s.at(t, "%s has %d methods", t.Name.Name, i.Methods.NumFields()))
		}
	}
	return broken
}
