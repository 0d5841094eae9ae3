package config

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
)

// form is how a value is written in a file: its type, and the tags of the field that has it. The tags of a type are
// those of its blank field. The reader, the printer, the schema and the manual all follow them:
//
//	yaml     the name of the field; ",text" and ",inline": the type is written as that text, or as the fields of the other;
//	         ",name": the name that the user gave it
//	old      its name in an earlier version
//	doc      what it is for; ‘…’ stands for code
//	default  what applies if it is left out, as it is shown; without: in words; required: the file needs it
//	inherit  what applies in place of the defaults of the fields in it
//	as       the [scalar] that reads it, if it is not that of the type
//	want     what is expected, in errors; of a list or a mapping of names it is the item, and list the whole
//	keys     of a list: it is a mapping of names, and this is their scalar
//	name     of a type: of its definition in the schema; about: what it is; missing: the error without a required FIELD
type form struct {
	reflect.Type
	tag     reflect.StructTag
	index   int
	inherit string
}

func formOf[T any]() form { return form{Type: reflect.TypeFor[T]()} }

func (f form) get(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(f.tag.Get(key), "‘", "`"), "’", "`")
}

// doc returns what the field is for: its own description, or else that of its scalar.
func (f form) doc() string {
	if doc := f.get("doc"); doc != "" || f.kind() != reflect.String {
		return doc
	}
	return f.scalar().about
}

func (f form) key() string { return f.tag.Get("yaml") }

// elem returns the form of what a pointer, a list or a mapping of names contains.
func (f form) elem() form {
	if f.kind() == reflect.Map {
		f.tag = ""
	}
	f.Type = f.Elem()
	return f
}

func (f form) kind() reflect.Kind {
	switch {
	case f.tag.Get("keys") != "":
		return reflect.Map
	case f.Kind() == reflect.Struct && f.Type != reflect.TypeFor[limit]():
		if _, ok := f.part("text"); ok {
			return reflect.Interface
		}
		return reflect.Struct
	case f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice:
		return f.Kind()
	case f.Type == reflect.TypeFor[fault.Set]():
		return reflect.Array
	}
	return reflect.String
}

func (f form) fields() (all []form) {
	for i := range f.NumField() {
		if field := f.Field(i); field.Tag.Get("yaml") != "" && field.Tag.Get("yaml")[0] != ',' {
			all = append(all, form{field.Type, field.Tag, i, cmp.Or(field.Tag.Get("inherit"), f.inherit)})
		}
	}
	return all
}

func (f form) field(key string) (found form, ok bool) {
	for i := range f.NumField() {
		if field := f.Field(i); field.Tag.Get("yaml") == key {
			return form{field.Type, field.Tag, i, f.inherit}, true
		}
	}
	return form{}, false
}

// part returns the field of a type that has its name, its text or its other form.
func (f form) part(which string) (form, bool) { return f.field("," + which) }

func (f form) meta(key string) string {
	blank, _ := f.FieldByName("_")
	return form{tag: blank.Tag}.get(key)
}

// of returns the field of a struct, also if it is private to this package: the values of a [Config] are for no one
// else to change.
func (f form) of(v reflect.Value) reflect.Value {
	return reflect.NewAt(f.Type, v.Field(f.index).Addr().UnsafePointer()).Elem()
}

// otherwise returns what applies if the field is left out: a value, or else words.
func (f form) otherwise() (value, words string) {
	switch {
	case f.tag.Get("required") != "":
		return "", "required"
	case f.inherit != "":
		return "", f.inherit
	}
	return f.tag.Get("default"), f.get("without")
}

// expected returns what the value should be.
func (f form) expected() string {
	switch f.kind() {
	case reflect.Map, reflect.Slice:
		return f.get("list")
	case reflect.Array:
		return "a list of kinds of faults: " + text.And(kindNames())
	case reflect.String:
		return f.scalar().expected()
	case reflect.Pointer:
		return f.elem().expected()
	}
	return f.meta("want")
}

// limit is a time, or a word in its place: none, or learned; zero: it is not set.
type limit struct {
	time time.Duration
	word string
}
