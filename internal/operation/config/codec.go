package config

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// codec reads, shows and describes the values of a type, so that parser, schema and manual cannot disagree.
type codec[T any] = codecOf[*T]

// codecOf is the codec of what P points to. What has only pointers for its types is compiled once for all of them,
// and not for each type of a setting anew.
type codecOf[P any] struct {
	schema *schema
	read   func(*reader, *node, P) bool // into a zero value, which an error may leave half read
	show   func(P) *node
}

// reader collects errors and the positions of values.
type reader struct {
	source
	faults Errors
	path   []string
	at     map[string]pos // the positions of values by path: "upstreams.local.url"
	hidden map[int]int    // lines that are hidden from a column on

	renamed []rename // keys of an earlier version
}

// rename is a key of an earlier version with its present name.
type rename struct {
	fault    *Error
	old, new string
}

// fail reports an error of a value.
//
//go:noinline it would be copied to each place that it is called at
func (r *reader) fail(n *node, format string, args ...any) {
	if n.kind == broken {
		return
	}
	r.faults = append(r.faults, r.fault(n.pos, format, args...))
}

// read reads a file with a codec.
func read[P any](src source, data []byte, f codecOf[P], to P) *reader {
	root, faults := parse(src, data)
	if root == nil {
		root = &node{pos: pos{1, 1}}
	}
	r := &reader{source: src, faults: faults, at: map[string]pos{}, hidden: map[int]int{}}
	f.read(r, root, to)
	return r
}

// done returns the errors in the order of the lines; nil: none.
func (r *reader) done() error {
	if len(r.faults) == 0 {
		return nil
	}
	if len(r.renamed) > 0 {
		return Errors{r.renamedError()}
	}
	for _, e := range r.faults {
		if column, ok := r.hidden[e.Line]; ok {
			e.text = string(append([]rune(e.text)[:column-1], '…'))
		}
	}
	slices.SortStableFunc(r.faults, byPosition)
	return r.faults
}

// renamedError returns one error for a file of an earlier version: about its first
// renamed key, with the new names of the others.
func (r *reader) renamedError() *Error {
	sort.SliceStable(r.renamed, func(i, j int) bool { return byPosition(r.renamed[i].fault, r.renamed[j].fault) < 0 })
	first := r.renamed[0]
	var others []string
	for _, k := range r.renamed[1:] {
		other := fmt.Sprintf("%q to %q", k.old, k.new)
		if k.old != first.old && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	if len(others) > 0 {
		first.fault.Message += "; also rename " + andList(others)
	}
	return first.fault
}

// mismatch reports that a value has another form than the schema.
func (r *reader) mismatch(n *node, s *schema, why string) {
	got := n.kind.String()
	if n.kind == text || n.kind == number {
		got = strconv.Quote(n.text)
	}
	if n.kind == sequence && len(n.items) == 0 {
		got = "an empty list"
	}
	if why != "" {
		got += ": " + why
	}
	r.fail(n, "%s; want %s", got, s.expected)
}

// child reads the value of a field, with its name appended to the path.
func (r *reader) child(name string, n *node, read func()) {
	r.path = append(r.path, name)
	r.at[strings.Join(r.path, ".")] = n.pos
	read()
	r.path = r.path[:len(r.path)-1]
}

// scalar is the codec of a scalar.
//
//go:noinline it would be copied to each place that it is called at
func scalar[T any](s *schema, parse func(string) (T, error), show func(T) string) codec[T] {
	if s.Type == nil {
		s.Type = "string"
	}
	written := text
	if s.Type == "number" || s.Type == "integer" {
		written = number
	}
	return codec[T]{
		schema: s,
		read: func(r *reader, n *node, to *T) bool {
			err := errForm
			if n.kind == written {
				*to, err = parse(n.text)
			}
			return r.fits(n, s, err)
		},
		show: func(v *T) *node { return &node{kind: written, text: show(*v)} },
	}
}

// fits reports whether a scalar was parsed, and reports an error if not.
func (r *reader) fits(n *node, s *schema, err error) bool {
	switch {
	case err == errForm:
		r.mismatch(n, s, "")
	case err != nil:
		r.mismatch(n, s, err.Error())
	}
	return err == nil
}

// oneOf is the codec of an enumeration.
func oneOf(words string, values ...string) codec[string] {
	s := &schema{expected: words + ": " + orList(values), Enum: values}
	return scalar(s, func(v string) (string, error) {
		if !slices.Contains(values, v) {
			return "", errForm
		}
		return v, nil
	}, itself)
}

func itself(s string) string { return s }

// seq is the codec of a list that is not empty. L is a pointer to the list.
//
//go:noinline it would be copied to each place that it is called at
func seq[L, P any](words string, of codecOf[P]) codecOf[L] {
	s := &schema{expected: words, Type: "array", Items: of.schema, MinItems: 1}
	return codecOf[L]{
		schema: s,
		read: func(r *reader, n *node, to L) bool {
			if n.kind != sequence || len(n.items) == 0 {
				r.mismatch(n, s, "")
				return false
			}
			all := reflect.ValueOf(to).Elem()
			for i, item := range n.items {
				r.child(strconv.Itoa(i), item, func() {
					v := reflect.New(all.Type().Elem())
					if of.read(r, item, v.Interface().(P)) {
						all.Set(reflect.Append(all, v.Elem()))
					}
				})
			}
			return all.Len() == len(n.items)
		},
		show: func(from L) *node {
			n := &node{kind: sequence}
			all := reflect.ValueOf(from).Elem()
			for i := range all.Len() {
				n.items = append(n.items, of.show(all.Index(i).Addr().Interface().(P)))
			}
			return n
		},
	}
}

// orNothing is the type of a mapping whose fields may all be commented out.
func orNothing() []string { return []string{"object", "null"} }

// named is a value with the name that the user gave it.
type named[T any] struct {
	name  string
	value T
}

// namedValues is a pointer to names.
type namedValues interface {
	add(name string) (value any)       // adds a value, and returns its address
	at(i int) (name string, value any) // the address of a value; nil: there are no more
}

// names are values in the order of their names in the file.
type names[T any] []named[T]

func (all *names[T]) add(name string) (value any) {
	*all = append(*all, named[T]{name: name})
	return &(*all)[len(*all)-1].value
}

func (all *names[T]) at(i int) (name string, value any) {
	if i == len(*all) {
		return "", nil
	}
	return (*all)[i].name, &(*all)[i].value
}

// byName is the codec of a mapping with names that the user chooses. It keeps their order. L is a pointer to the names.
//
//go:noinline it would be copied to each place that it is called at
func byName[L namedValues, P any](words string, name codec[string], of codecOf[P]) codecOf[L] {
	s := &schema{expected: words, Type: orNothing(), Names: name.schema, Additional: of.schema}
	return codecOf[L]{
		schema: s,
		read: func(r *reader, n *node, to L) bool {
			if n.kind != mapping && n.kind != null {
				r.mismatch(n, s, "")
				return false
			}
			for _, e := range n.entries {
				name.read(r, e.key, new(string))
				r.child(e.key.text, e.key, func() { of.read(r, e.value, to.add(e.key.text).(P)) })
			}
			return true
		},
		show: func(from L) *node {
			n := &node{kind: mapping}
			for i := 0; ; i++ {
				name, v := from.at(i)
				if v == nil {
					return n
				}
				n.add(name, of.show(v.(P)))
			}
		},
	}
}

// add adds a field to a mapping; nil: it is left out.
func (n *node) add(name string, value *node) {
	if value != nil {
		n.entries = append(n.entries, entry{&node{kind: text, text: name}, value})
	}
}

// fields reads the fields of a mapping, each with read and its index, and rejects unknown ones.
func (r *reader) fields(n *node, known []*key, read func(i int, n *node)) {
	for _, e := range n.entries {
		name := e.key.text
		i := slices.IndexFunc(known, func(k *key) bool { return k.name == name })
		if i >= 0 {
			r.child(name, e.value, func() { read(i, e.value) })
			continue
		}
		if i = slices.IndexFunc(known, func(k *key) bool { return k.old != "" && k.old == name }); i >= 0 {
			r.fail(e.key, "%q is now called %q", name, known[i].name)
			r.renamed = append(r.renamed, rename{r.faults[len(r.faults)-1], name, known[i].name})
			continue
		}
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = k.name
		}
		r.fail(e.key, "unknown field %q; %s", name, suggest(name, names))
	}
}

// suggest suggests a similar name, or else lists all.
func suggest(name string, names []string) string {
	for _, n := range names {
		if near(name, n) {
			return "did you mean " + n + "?"
		}
	}
	return "want " + orList(names)
}

// near reports whether two names differ only by a character, by two swapped ones,
// or by how their words are joined.
func near(a, b string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	a, b = strings.ToLower(plain.Replace(a)), strings.ToLower(plain.Replace(b))
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}

// andList returns names as "a, b and c".
func andList(names []string) string { return joined(names, " and ") }

// orList returns names as "a, b or c".
func orList(names []string) string { return joined(names, " or ") }

func joined(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}
