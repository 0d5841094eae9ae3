package config

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
)

// reader reads nodes into structs, and collects errors and the positions of values.
type reader struct {
	source
	faults Errors
	path   []string
	at     map[string]pos // the positions of values by path: "upstreams.local.url"
	hidden map[int]int    // lines that are hidden from a column on

	renamed Errors // keys of an earlier version; they come before other errors
}

// starter is a type whose defaults the fields of the file override.
type starter interface{ start(r *reader, n *node) }

// checker is a type with rules across several fields.
type checker interface{ check(r *reader, n *node) }

// read reads a file. The tags are those of its whole value.
func read[T any](name string, data []byte, to *T, tags reflect.StructTag) *reader {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	src := source{name, strings.Split(string(data), "\n")}
	root, faults := parse(src, data)
	if root == nil {
		root = &node{pos: pos{1, 1}}
	}
	r := &reader{source: src, faults: faults, at: map[string]pos{}, hidden: map[int]int{}}
	f := form{Type: reflect.TypeFor[T](), tag: tags}
	if root.kind != null || f.kind() != reflect.Slice { // an empty file is an empty list
		r.value(f, root, reflect.ValueOf(to).Elem())
	}
	return r
}

func (r *reader) fail(n *node, format string, args ...any) {
	if n.kind != broken {
		r.faults = append(r.faults, r.fault(n.pos, format, args...))
	}
}

func (r *reader) done() error {
	if len(r.renamed) > 0 {
		r.faults = r.renamed
	}
	if len(r.faults) == 0 {
		return nil
	}
	for _, e := range r.faults {
		if column, ok := r.hidden[e.Line]; ok {
			shown := []rune(e.text) // without its credentials it may end before
			e.text = string(append(shown[:min(column-1, len(shown))], '…'))
		}
	}
	slices.SortStableFunc(r.faults, byPosition)
	return r.faults
}

func (r *reader) mismatch(n *node, want, why string) {
	got := n.kind.String()
	if n.kind == words || n.kind == number {
		got = strconv.Quote(n.text)
	}
	if n.kind == sequence && len(n.items) == 0 {
		got = "an empty list"
	}
	if why != "" {
		got += ": " + why
	}
	r.fail(n, "%s; want %s", got, want)
}

func (r *reader) enter(name string, at pos) {
	r.path = append(r.path, name)
	r.at[strings.Join(r.path, ".")] = at
}

func (r *reader) leave() { r.path = r.path[:len(r.path)-1] }

// child reads a part of a value; false: it is invalid and stays zero.
func (r *reader) child(name string, f form, n *node, to reflect.Value) bool {
	r.enter(name, n.pos)
	defer r.leave()
	made := reflect.New(f.Type).Elem()
	if !r.value(f, n, made) {
		return false
	}
	to.Set(made)
	return true
}

// value reads a value; false: it is invalid and may be partly read.
func (r *reader) value(f form, n *node, to reflect.Value) bool {
	before := len(r.faults)
	switch f.kind() {
	case reflect.Pointer:
		to.Set(reflect.New(f.Elem()))
		return r.value(f.elem(), n, to.Elem())
	case reflect.Interface:
		r.either(f, n, to)
	case reflect.Struct:
		return r.fields(f, n, to)
	case reflect.Map:
		r.names(f, n, to)
		return true
	case reflect.Slice:
		return r.list(f, n, to)
	case reflect.Array:
		var list []string
		r.list(kindList(f), n, reflect.ValueOf(&list).Elem())
		for _, name := range list {
			to.SetUint(to.Uint() | uint64(kindSet(name)))
		}
	default:
		r.scalar(f.scalar(), n, to)
	}
	return len(r.faults) == before && n.kind != broken
}

func (r *reader) scalar(s scalar, n *node, to reflect.Value) {
	value, err := s.read(n)
	told, whole := errors.AsType[wholeError](err)
	switch {
	case whole && told.hides:
		r.hide(n)
		fallthrough
	case whole:
		r.fail(n, "%v", told)
	case err == errForm:
		r.mismatch(n, s.expected(), "")
	case err != nil:
		r.mismatch(n, s.expected(), err.Error())
	default:
		to.Set(reflect.ValueOf(value).Convert(to.Type()))
	}
}

func (r *reader) either(f form, n *node, to reflect.Value) {
	plain, _ := f.part("text")
	inline, _ := f.part("inline")
	s := plain.scalar()
	switch {
	case n.kind == null:
		r.mismatch(n, f.expected(), "")
	case n.kind == mapping, inline.Type == reflect.TypeFor[secret]() && !s.accepts(n):
		r.value(inline, n, inline.of(to))
	case n.kind == sequence:
		r.mismatch(n, f.expected(), "")
	default:
		r.scalar(s, n, plain.of(to))
	}
}

func (r *reader) list(f form, n *node, to reflect.Value) bool {
	if n.kind != sequence || len(n.items) == 0 {
		r.mismatch(n, f.expected(), "")
		return false
	}
	ok := true
	to.Set(reflect.MakeSlice(to.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		ok = r.child(strconv.Itoa(i), f.elem(), item, to.Index(i)) && ok
	}
	return ok
}

// names reads a mapping with user-defined names, in order.
func (r *reader) names(f form, n *node, to reflect.Value) {
	if n.kind != mapping && n.kind != null {
		r.mismatch(n, f.expected(), "")
		return
	}
	key := scalarNamed(f.tag.Get("keys"))
	for _, e := range n.entries {
		r.scalar(key, e.key, reflect.New(reflect.TypeFor[string]()).Elem())
		one := reflect.New(to.Type().Elem()).Elem()
		name, _ := f.elem().part("name")
		name.of(one).SetString(e.key.text)
		r.enter(e.key.text, e.key.pos)
		r.value(f.elem(), e.value, one)
		r.leave()
		to.Set(reflect.Append(to, one))
	}
}

func (r *reader) fields(f form, n *node, to reflect.Value) bool {
	before := len(r.faults)
	if f.Type == reflect.TypeFor[secret]() {
		defer func() {
			if len(r.faults) > before {
				r.hide(n)
			}
		}()
		switch {
		case n.kind == words || n.kind == number:
			r.fail(n, "a secret must not be in the configuration file; want %s", f.expected())
			return false
		case n.kind != mapping || len(n.entries) != 1:
			r.fail(n, "want %s", f.expected())
			return false
		}
	}
	if n.kind != mapping && n.kind != null {
		r.mismatch(n, f.expected(), "")
		return false
	}
	at := to.Addr().Interface()
	if s, ok := at.(starter); ok {
		s.start(r, n)
	}
	fields, ok := f.fields(), true
	for _, field := range fields {
		if field.tag.Get("required") != "" && n.field(field.key()) == nil {
			r.fail(n, "%s", strings.Replace(cmp.Or(f.meta("missing"), "the field FIELD is required"), "FIELD", field.key(), 1))
		}
	}
	for _, e := range n.entries {
		if i := slices.IndexFunc(fields, func(field form) bool { return field.key() == e.key.text }); i >= 0 {
			ok = r.child(e.key.text, fields[i], e.value, fields[i].of(to)) && ok
		} else {
			r.unknown(e.key, fields)
		}
	}
	if c, is := at.(checker); is && ok && len(r.faults) == before {
		c.check(r, n)
	}
	return ok && len(r.faults) == before
}

// unknown reports a field that a mapping does not have, or that was renamed.
func (r *reader) unknown(key *node, fields []form) {
	var known []string
	for _, f := range fields {
		if f.tag.Get("old") == key.text && key.text != "" {
			r.renamed = append(r.renamed, r.fault(key.pos, "%q is now called %q", key.text, f.key()))
			return
		}
		known = append(known, f.key())
	}
	r.fail(key, "unknown field %q; %s", key.text, suggest(key.text, known))
}

// hide removes a value from the excerpts of errors, since it may be a secret.
func (r *reader) hide(n *node) {
	if column, ok := r.hidden[n.line]; !ok || n.column < column {
		r.hidden[n.line] = n.column
	}
	for _, e := range n.entries {
		r.hide(e.key)
		r.hide(e.value)
	}
	for _, item := range n.items {
		r.hide(item)
	}
}

func kindList(f form) form {
	f.Type, f.tag = reflect.TypeFor[[]string](), reflect.StructTag(`list:"a list of kinds of faults: `+text.And(kindNames())+`" as:"kind"`)
	return f
}

func kindSet(name string) fault.Set {
	if name == "transient" {
		return fault.Transient
	}
	return fault.Set(0).With(fault.KindOf(name))
}

func kindsIn(set fault.Set) (names []string) {
	for _, name := range kindNames() {
		if s := kindSet(name); set&s == s {
			names = append(names, name)
			set &^= s
		}
	}
	return names
}

func kindNames() []string {
	names := []string{"transient"}
	for k := fault.Unknown; k < fault.Canceled; k++ {
		names = append(names, k.String())
	}
	return names
}

func suggest(name string, names []string) string {
	for _, n := range names {
		if near(name, n) {
			return "did you mean " + n + "?"
		}
	}
	return "want " + text.Or(names)
}

// near reports whether two names differ by one character, by two swapped ones, or by how their words are joined.
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
