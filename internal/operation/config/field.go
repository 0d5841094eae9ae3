package config

import "reflect"

// field is a field of S.
type field[S any] = fieldOf[*S]

// fieldOf is a field of what P points to.
type fieldOf[P any] struct {
	*key
	read func(*reader, *node, P)
	show func(P) *node // returns nil if it is unset and has no default
}

// key is what is known of a field without its type.
type key struct {
	name   string
	old    string // its name in an earlier version; "": the same
	schema *schema
}

// newKey returns the key of a field whose values have the schema s.
func newKey(name string, s *schema, doc fieldDoc) *key {
	described := *s
	described.fieldDoc = doc
	return &key{name: name, schema: &described}
}

// newField returns a field; at returns the address of its value.
//
//go:noinline it would be copied to each place that it is called at
func newField[P, Q any](name string, f codecOf[Q], at func(P) Q, doc fieldDoc) fieldOf[P] {
	k := newKey(name, f.schema, doc)
	return fieldOf[P]{
		key: k,
		read: func(r *reader, n *node, to P) {
			if v := reflect.New(reflect.TypeFor[Q]().Elem()); f.read(r, n, v.Interface().(Q)) {
				reflect.ValueOf(at(to)).Elem().Set(v.Elem())
			}
		},
		show: func(from P) *node {
			v := at(from)
			return k.shown(v, f.show(v))
		},
	}
}

// shown returns how a field is shown whose value is at an address; nil: it is left out.
func (k *key) shown(at any, value *node) *node {
	zero := reflect.ValueOf(at).Elem().IsZero()
	switch {
	case zero && k.schema.def != "":
		return &node{kind: text, text: k.schema.def}
	case !zero || len(value.entries) > 0: // fields may have defaults
		return value
	}
	return nil
}

// formerly sets the field's key in an earlier version, which is rejected with the new name.
//
//go:noinline it would be copied to each place that it is called at
func (f fieldOf[P]) formerly(old string) fieldOf[P] {
	f.old = old
	return f
}

// object is the codec of a mapping with known fields. start, unless nil, sets the initial value.
func object[P any](s *schema, start func(*reader, *node, P), fields ...fieldOf[P]) codecOf[P] {
	read, show := members(s, fields)
	return codecOf[P]{
		schema: s,
		read: func(r *reader, n *node, to P) bool {
			if !r.isMapping(n, s) {
				return false
			}
			before := len(r.faults)
			if start != nil {
				start(r, n, to)
			}
			read(r, n, to)
			return len(r.faults) == before
		},
		show: show,
	}
}

// isMapping reports whether a value can have fields, and reports an error if not.
func (r *reader) isMapping(n *node, s *schema) bool {
	if n.kind != mapping && n.kind != null {
		r.mismatch(n, s, "")
		return false
	}
	return true
}

// members describes fields in the schema of their mapping, and returns what reads and shows all of them.
func members[P any](s *schema, fields []fieldOf[P]) (read func(*reader, *node, P), show func(P) *node) {
	keys := make([]*key, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	s.describe(keys)
	read = func(r *reader, n *node, to P) {
		r.fields(n, keys, func(i int, n *node) { fields[i].read(r, n, to) })
	}
	show = func(from P) *node {
		n := &node{kind: mapping}
		for _, f := range fields {
			n.add(f.name, f.show(from))
		}
		return n
	}
	return read, show
}

// describe makes s the schema of a mapping with fields.
func (s *schema) describe(fields []*key) {
	if s.Additional = false; s.Type == nil {
		s.Type = orNothing()
	}
	for _, f := range fields {
		s.Properties = append(s.Properties, property{f.name, f.schema})
	}
}
