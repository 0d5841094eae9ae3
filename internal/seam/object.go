package seam

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// object is a JSON object whose members keep their order and their bytes.
type object []member

type member struct {
	key   string
	value []byte
}

// parse parses an object; false: it is none, or a name occurs twice in it or has an escape.
func parse(text []byte) (object, bool) {
	if !json.Valid(text) || len(bytes.TrimSpace(text)) == 0 || bytes.TrimSpace(text)[0] != '{' {
		return nil, false
	}
	var o object
	for key, value := range dialect.Members(text) {
		if bytes.IndexByte(key, '\\') >= 0 || o.get(string(key)) != nil {
			return nil, false
		}
		o = append(o, member{string(key), value})
	}
	return o, true
}

// child parses a member that is an object; nil: it is none.
func (o object) child(key string) object {
	inner, _ := parse(o.get(key))
	return inner
}

// get returns a member's value; nil: there is none. Like the others here that are called in dozens of places, it is
// not inlined: that would be 60 KB of code for what runs once in an answer that broke off.
//
//go:noinline
func (o object) get(key string) []byte {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// has reports whether the object has a member that says something: not null, false, "", [] or {}.
func (o object) has(key string) bool { return !isEmpty(o.get(key)) }

// set returns the object with another value of a member, which is added if it is not there.
//
//go:noinline
func (o object) set(key string, value []byte) object {
	all := slices.Clone(o)
	for i := range all {
		if all[i].key == key {
			all[i].value = value
			return all
		}
	}
	return append(all, member{key, value})
}

// replace is set for a member that is there; others are not added.
func (o object) replace(key string, value []byte) object {
	if o.get(key) == nil || value == nil {
		return o
	}
	return o.set(key, value)
}

// replaceAll is replace for each of some members.
func (o object) replaceAll(all object) object {
	for _, m := range all {
		o = o.replace(m.key, m.value)
	}
	return o
}

// bytes returns the object as JSON.
//
//go:noinline
func (o object) bytes() []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.key...), '"', ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// isEmpty reports whether a raw value says nothing.
func isEmpty(value []byte) bool {
	switch string(value) {
	case "", "null", "false", `""`, "[]", "{}", "0":
		return true
	}
	return false
}

// list returns an array of raw values.
//
//go:noinline
func list(values ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// elements returns the elements of an array.
func elements(array []byte) [][]byte {
	var all [][]byte
	for e := range dialect.Elements(array) {
		all = append(all, e)
	}
	return all
}

// text returns the text of a raw string; "": it is none.
func text(value []byte) (s string) {
	switch {
	case len(value) < 2 || value[0] != '"':
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1])
	default:
		_ = json.Unmarshal(value, &s)
	}
	return s
}

// quote returns a text as JSON.
//
//go:noinline
func quote(s string) []byte {
	value, _ := json.Marshal(s)
	return value
}

// number returns a raw whole number; 0: it is none.
func number(value []byte) int {
	n, _ := strconv.Atoi(string(value))
	return n
}

// numeral returns a number as JSON.
func numeral(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// at returns the raw value at a path of members; nil: there is none.
//
//go:noinline
func at(value []byte, path ...string) []byte {
	for _, key := range path {
		value = dialect.Member(value, key)
	}
	return value
}

// hasAny reports whether the object has one of the members.
func (o object) hasAny(keys ...string) bool { return slices.ContainsFunc(keys, o.has) }

// clone returns the object with values of its own.
func (o object) clone() object {
	all := slices.Clone(o)
	for i := range all {
		all[i].value = bytes.Clone(all[i].value)
	}
	return all
}

// pick returns a copy of some members of an object.
func pick(text []byte, keys ...string) object {
	o := object{}
	for key, value := range dialect.Members(text) {
		if slices.Contains(keys, string(key)) {
			o = append(o, member{string(key), bytes.Clone(value)})
		}
	}
	return o
}

// lastOf returns the last element of an array; nil: it has none.
func lastOf(array []byte) (last []byte) {
	for e := range dialect.Elements(array) {
		last = e
	}
	return last
}
