package config

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The URLs of the schemas, for editors.
const (
	schemas     = "https://raw.githubusercontent.com/ridethrough/ridethrough/main/docs/"
	schemaURL   = schemas + "config.schema.json"
	scenarioURL = schemas + "scenario.schema.json"
)

// schema is a JSON Schema, draft 2020-12.
type schema struct {
	Type          any        `json:"type,omitzero"` // a string, or []string
	Enum          []string   `json:"enum,omitzero"`
	Pattern       string     `json:"pattern,omitzero"`
	Minimum       *float64   `json:"minimum,omitzero"`
	Maximum       *float64   `json:"maximum,omitzero"`
	Items         *schema    `json:"items,omitzero"`
	MinItems      int        `json:"minItems,omitzero"`
	Properties    properties `json:"properties,omitzero"`
	Required      []string   `json:"required,omitzero"`
	MinProperties int        `json:"minProperties,omitzero"`
	MaxProperties int        `json:"maxProperties,omitzero"`
	Names         *schema    `json:"propertyNames,omitzero"`
	Additional    any        `json:"additionalProperties,omitzero"` // false or *schema
	AnyOf         []*schema  `json:"anyOf,omitzero"`

	name     string // of a shared definition; "": it is inlined
	about    string // its description
	expected string // the expected form, for errors
	fieldDoc        // as a field
}

// fieldDoc describes a field: its purpose, its default, and without a default what applies if it is left out.
type fieldDoc struct{ doc, def, without string }

// property is a field of an object.
type property struct {
	name   string
	schema *schema
}

// properties are fields in the order of the manual.
type properties []property

func (p properties) names() []string {
	names := make([]string, len(p))
	for i := range p {
		names[i] = p[i].name
	}
	return names
}

// MarshalJSON encodes an object in this order.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(f.name)
		value, err := json.Marshal(f.schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plain is a schema without the methods, which is always inlined.
type plain schema

// MarshalJSON encodes a reference if the schema is a shared definition.
func (s *schema) MarshalJSON() ([]byte, error) {
	described := struct {
		Ref         string `json:"$ref,omitzero"`
		Description string `json:"description,omitzero"`
		Default     string `json:"default,omitzero"`
		*plain
	}{Description: s.doc, Default: s.def}
	if s.name != "" {
		described.Ref = "#/$defs/" + s.name
	} else {
		described.plain = (*plain)(s)
	}
	return json.Marshal(described)
}

// children returns the schemas of the schema's parts.
func (s *schema) children() []*schema {
	var all []*schema
	for _, p := range s.Properties {
		all = append(all, p.schema)
	}
	all = append(all, s.AnyOf...)
	more, _ := s.Additional.(*schema)
	for _, one := range []*schema{s.Items, s.Names, more} {
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// definitions appends the shared definitions in the schema to known.
func (s *schema) definitions(known properties) properties {
	if s.name != "" {
		if slices.Contains(known.names(), s.name) {
			return known
		}
		inlined := *s
		inlined.name, inlined.fieldDoc = "", fieldDoc{doc: s.about}
		known = append(known, property{s.name, &inlined})
	}
	for _, b := range s.children() {
		known = b.definitions(known)
	}
	return known
}

// Schema returns the JSON Schema of the file, for editors.
func Schema() []byte {
	root := file().schema
	return document(root, schemaURL, "The configuration of ridethrough")
}

// document returns a schema as a JSON document.
func document(root *schema, id, title string) []byte {
	text, err := json.MarshalIndent(struct {
		Dialect string `json:"$schema"`
		ID      string `json:"$id"`
		Title   string `json:"title"`
		*plain
		Defs properties `json:"$defs"`
	}{
		"https://json-schema.org/draft/2020-12/schema", id, title,
		(*plain)(root), root.definitions(nil),
	}, "", "  ")
	if err != nil {
		panic(err) // it contains only strings and numbers
	}
	return append(text, '\n')
}
