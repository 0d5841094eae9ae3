package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// Object is a JSON object whose members keep their order and their bytes.
type Object []Field

type Field struct {
	Key   string
	Value []byte
}

// ParseObject parses an object; false: it is not an object, or has a name twice or with an escape.
func ParseObject(text []byte) (Object, bool) {
	if !json.Valid(text) || len(bytes.TrimSpace(text)) == 0 || bytes.TrimSpace(text)[0] != '{' {
		return nil, false
	}
	var o Object
	for key, value := range Members(text) {
		if bytes.IndexByte(key, '\\') >= 0 || o.Get(string(key)) != nil {
			return nil, false
		}
		o = o.With(string(key), value)
	}
	return o, true
}

// Child parses a member that is an object; nil: it is not one.
func (o Object) Child(key string) Object {
	inner, _ := ParseObject(o.Get(key))
	return inner
}

// Get returns a member's value; nil: none.
func (o Object) Get(key string) []byte {
	for _, m := range o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Has reports whether the object has a member that says something: not null, false, 0, "", [] or {}.
func (o Object) Has(key string) bool {
	value := o.Get(key)
	return !IsEmpty(value) && string(value) != "0"
}

// Set returns the object with another value of a member, which is added if it is not there.
func (o Object) Set(key string, value []byte) Object {
	all := slices.Clone(o)
	for i := range all {
		if all[i].Key == key {
			all[i].Value = value
			return all
		}
	}
	return all.With(key, value)
}

// With returns the object with one member more.
func (o Object) With(key string, value []byte) Object { return append(o, Field{key, value}) }

// Replace is Set for a member that is there; others are not added.
func (o Object) Replace(key string, value []byte) Object {
	if o.Get(key) == nil || value == nil {
		return o
	}
	return o.Set(key, value)
}

// ReplaceAll is replace for each of some members.
func (o Object) ReplaceAll(all Object) Object {
	for _, m := range all {
		o = o.Replace(m.Key, m.Value)
	}
	return o
}

// Append adds objects to the array in a member.
func (o Object) Append(key string, more ...Object) Object {
	all := ElementsOf(o.Get(key))
	for _, m := range more {
		all = append(all, m.JSON())
	}
	return o.Set(key, List(all...))
}

// JSON returns the object as JSON.
func (o Object) JSON() []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.Key...), '"', ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// List returns an array of raw values.
func List(values ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// ElementsOf returns the elements of an array.
func ElementsOf(array []byte) [][]byte { return slices.Collect(Elements(array)) }

// TextOf returns the text of a raw string; "": it is not one.
func TextOf(value []byte) (s string) {
	switch {
	case len(value) < 2 || value[0] != '"':
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1])
	default:
		_ = json.Unmarshal(value, &s)
	}
	return s
}

// Quote returns a text as JSON.
func Quote(s string) []byte {
	value, _ := json.Marshal(s)
	return value
}

// Numeral returns a number as JSON.
func Numeral(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// At returns the raw value at a path of members; nil: none.
func At(value []byte, path ...string) []byte {
	for _, key := range path {
		value = Member(value, key)
	}
	return value
}

// HasAny reports whether the object has one of the members.
func (o Object) HasAny(keys ...string) bool { return slices.ContainsFunc(keys, o.Has) }

// Pick returns a copy of some members of an object.
func Pick(text []byte, keys ...string) Object {
	o := Object{}
	for key, value := range Members(text) {
		if slices.Contains(keys, string(key)) {
			o = o.With(string(key), bytes.Clone(value))
		}
	}
	return o
}

// LastOf returns the last element of an array; nil: without one.
func LastOf(array []byte) (last []byte) {
	for e := range Elements(array) {
		last = e
	}
	return last
}
