package config

import (
	"fmt"
	"strings"
)

// Reference returns the part of the manual that lists the fields.
func Reference() string { return reference(file().schema) }

// ScenarioReference returns the same part of the lab's manual.
func ScenarioReference() string { return reference(scenarios().schema) }

func reference(root *schema) string {
	var b strings.Builder
	table(&b, "The file", "", root)
	for _, d := range root.definitions(nil) {
		if len(d.schema.Properties) > 0 && !strings.HasPrefix(d.name, "route-") {
			table(&b, d.name, d.schema.about, d.schema)
		}
	}
	return b.String()
}

// table writes the fields of one object.
func table(b *strings.Builder, title, about string, s *schema) {
	fmt.Fprintf(b, "### %s\n\n", title)
	if about != "" {
		fmt.Fprintf(b, "%s\n\n", about)
	}
	b.WriteString("| field | value | if it is left out | |\n|---|---|---|---|\n")
	for _, p := range s.Properties {
		without := p.schema.without
		if p.schema.def != "" {
			without = "`" + p.schema.def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.name, value(p.schema), without, strings.ReplaceAll(p.schema.doc, "|", `\|`))
	}
	b.WriteString("\n")
}

// value returns the description of a field's values.
func value(s *schema) string {
	words := s.expected
	for _, d := range s.definitions(nil) {
		if len(d.schema.Properties) > 0 {
			name := strings.TrimPrefix(d.name, "route-")
			return words + " ([" + name + "](#" + name + "))"
		}
	}
	return words
}
