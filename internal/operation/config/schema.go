package config

import (
	_ "embed"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// The URLs of the schemas, for editors.
const (
	schemas     = "https://raw.githubusercontent.com/ridethrough/ridethrough/main/docs/"
	schemaURL   = schemas + "config.schema.json"
	scenarioURL = schemas + "scenario.schema.json"
)

// Schema returns the JSON Schema of the file, for editors.
func Schema() []byte {
	return document(formOf[Config](), schemaURL, "The configuration of ridethrough")
}

// ScenarioSchema returns the JSON Schema of a scenario, for editors.
func ScenarioSchema() []byte {
	return document(formOf[Scenario](), scenarioURL, "A scenario of ridethrough's lab")
}

func document(f form, id, title string) []byte {
	defs := map[string]*jsonschema.Schema{}
	root := f.schema(defs)
	root.Schema, root.ID, root.Title, root.Defs = "https://json-schema.org/draft/2020-12/schema", id, title, defs
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it contains only strings and numbers
	}
	return append(text, '\n')
}

// definition returns the name and the description of the form's definition in the schema; "" without one.
func (f form) definition() (name, about string) {
	switch f.kind() {
	case reflect.String:
		s := f.scalar()
		return s.name, s.about
	case reflect.Struct:
		if name = f.meta("name"); f.inherit != "" && name != "" {
			name = "inherited-" + name
		}
		return name, f.meta("about")
	}
	return "", ""
}

func (f form) schema(defs map[string]*jsonschema.Schema) *jsonschema.Schema {
	name, about := f.definition()
	if name == "" {
		return f.inline(defs)
	}
	if defs[name] == nil {
		defs[name] = f.inline(defs)
		defs[name].Description = about
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func (f form) inline(defs map[string]*jsonschema.Schema) *jsonschema.Schema {
	least := 1
	switch f.kind() {
	case reflect.Pointer:
		return f.elem().schema(defs)
	case reflect.Interface:
		plain, _ := f.part("text")
		inline, _ := f.part("inline")
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{plain.schema(defs), inline.schema(defs)}}
	case reflect.Map:
		return &jsonschema.Schema{Types: []string{"object", "null"}, PropertyNames: scalarNamed(f.tag.Get("keys")).schema(), AdditionalProperties: f.elem().schema(defs)}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: f.elem().schema(defs), MinItems: &least}
	case reflect.Array:
		return kindList(f).inline(defs)
	case reflect.String:
		return f.scalar().schema()
	}
	s := &jsonschema.Schema{Types: []string{"object", "null"}, Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, field := range f.fields() {
		one := field.schema(defs)
		one.Description = field.doc()
		if value, _ := field.otherwise(); value != "" {
			one.Default, _ = json.Marshal(value)
		}
		if field.tag.Get("required") != "" {
			s.Required = append(s.Required, field.key())
		}
		s.Properties[field.key()], s.PropertyOrder = one, append(s.PropertyOrder, field.key())
	}
	if f.Type == reflect.TypeFor[secret]() {
		s.MinProperties, s.MaxProperties = &least, &least
	}
	if s.MinProperties != nil || len(s.Required) > 0 {
		s.Type, s.Types = "object", nil
	}
	return s
}

func (s scalar) schema() *jsonschema.Schema {
	made := &jsonschema.Schema{Type: "string", Pattern: s.pattern, Enum: anys(s.enum)}
	switch {
	case s.kind != "":
		made.Type, made.Minimum = s.kind, &s.min
	case s.loose:
		made.Type, made.Types = "", []string{"string", "number", "boolean"}
	}
	if s.max > 0 {
		made.Maximum = &s.max
	}
	if len(s.words) > 0 { // first, for completion in editors
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: anys(s.words)}, made}}
	}
	return made
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

//go:embed starter.yaml
var starterFile string

// Starter returns a commented file to start from. It contains the defaults.
func Starter() string { return starterFile }
