package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Reload is reload.
func Reload[T any](parse func(texts [][]byte) (T, error), report func(T, error), paths ...string) (*reloaded[T], error) {
	return reload(parse, report, paths...)
}

// Reference returns the part of the manual that lists the fields.
func Reference() string { return reference(formOf[Config]()) }

// ScenarioReference returns the same part of the lab's manual.
func ScenarioReference() string { return reference(formOf[Scenario]()) }

func reference(root form) string {
	var b strings.Builder
	table(&b, "The file", "", root)
	for _, d := range root.definitions(nil) {
		if name, about := d.definition(); !strings.HasPrefix(name, "inherited-") {
			table(&b, name, about, d)
		}
	}
	return b.String()
}

// definitions appends the mappings with a definition in the form to known.
func (f form) definitions(known []form) []form {
	switch f.kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return f.elem().definitions(known)
	case reflect.Interface:
		inline, _ := f.part("inline")
		return inline.definitions(known)
	case reflect.Struct:
		name, _ := f.definition()
		if slices.ContainsFunc(known, func(k form) bool { have, _ := k.definition(); return have == name }) {
			return known
		}
		if name != "" {
			known = append(known, f)
		}
		for _, field := range f.fields() {
			known = field.definitions(known)
		}
	}
	return known
}

// table writes the fields of one object.
func table(b *strings.Builder, title, about string, f form) {
	fmt.Fprintf(b, "### %s\n\n", title)
	if about != "" {
		fmt.Fprintf(b, "%s\n\n", about)
	}
	b.WriteString("| field | value | if it is left out | |\n|---|---|---|---|\n")
	for _, field := range f.fields() {
		def, without := field.otherwise()
		if def != "" {
			without = "`" + def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", field.key(), value(field), without, strings.ReplaceAll(field.doc(), "|", `\|`))
	}
	b.WriteString("\n")
}

// value returns the description of a field's values.
func value(f form) string {
	words := f.expected()
	for _, d := range f.definitions(nil) {
		if name, _ := d.definition(); name != "" {
			name = strings.TrimPrefix(name, "inherited-")
			return words + " ([" + name + "](#" + name + "))"
		}
	}
	return words
}
