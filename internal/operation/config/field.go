package config

import "reflect"

// field is a field of S.
type field[S any] = fieldOf[*S]

// fieldOf is a field of what P points to. What has only pointers for its types is compiled once for all of them.
type fieldOf[P any] struct {
	*key
	read func(*reader, *node, P)
	show func(P) *node // returns nil if it is unset and has no default
}

// key is what is known of a field without its type. What depends on a type is compiled for every type anew, so
// there is little of it.
type key struct {
	name   string
	old    string // its name in an earlier version; "": the same
	schema *schema
}

// newKey returns the key of a field whose values have the schema s. It copies much, so it is compiled once.
//
//go:noinline
func newKey(name string, s *schema, doc fieldDoc) *key {
	described := *s
	described.fieldDoc = doc
	return &key{name: name, schema: &described}
}

// newField returns a field; at returns the address of its value.
func newField[S, T any](name string, f codec[T], at func(*S) *T, doc fieldDoc) field[S] {
	return bind(newKey(name, f.schema, doc), f.reader(), f.shower(), at)
}

// reader returns what reads into a variable. Inlined, it would be compiled for each field.
//
//go:noinline
func (f codec[T]) reader() func(*reader, *node, *T) {
	read := f.read
	return func(r *reader, n *node, to *T) {
		if v, ok := read(r, n); ok {
			*to = v
		}
	}
}

// shower returns what shows a variable. Inlined, it would be compiled for each field.
//
//go:noinline
func (f codec[T]) shower() func(*T) *node {
	show := f.show
	return func(from *T) *node { return show(*from) }
}

// bind returns a field whose value is read and shown at an address.
//
//go:noinline
func bind[P, Q any](k *key, read func(*reader, *node, Q), show func(Q) *node, at func(P) Q) fieldOf[P] {
	return fieldOf[P]{
		key:  k,
		read: func(r *reader, n *node, to P) { read(r, n, at(to)) },
		show: func(from P) *node {
			v := at(from)
			return k.shown(v, show(v))
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
func (f fieldOf[P]) formerly(old string) fieldOf[P] {
	f.old = old
	return f
}

// object is the codec of a mapping with known fields. fresh, unless nil, returns the initial value.
func object[S any](s *schema, fresh func(*reader, *node) S, fields ...field[S]) codec[S] {
	read, show := members(s, fields)
	return codec[S]{
		schema: s,
		read: func(r *reader, n *node) (v S, ok bool) {
			if !r.isMapping(n, s) {
				return v, false
			}
			before := len(r.faults)
			if fresh != nil {
				v = fresh(r, n)
			}
			read(r, n, &v)
			return v, len(r.faults) == before
		},
		show: func(v S) *node { return show(&v) },
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
