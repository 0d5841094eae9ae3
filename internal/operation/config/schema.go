package config

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Where editors find the schemas.
const (
	schemas     = "https://raw.githubusercontent.com/ridethrough/ridethrough/main/docs/"
	schemaURL   = schemas + "config.schema.json"
	scenarioURL = schemas + "scenario.schema.json"
)

// schema describes a value in the words of JSON Schema, draft 2020-12.
type schema struct {
	Type          any        `json:"type,omitzero"` // a string, or []string
	Enum          []string   `json:"enum,omitzero"`
	Pattern       string     `json:"pattern,omitzero"`
	Minimum       *float64   `json:"minimum,omitzero"`
	Items         *schema    `json:"items,omitzero"`
	MinItems      int        `json:"minItems,omitzero"`
	Properties    properties `json:"properties,omitzero"`
	Required      []string   `json:"required,omitzero"`
	MinProperties int        `json:"minProperties,omitzero"`
	MaxProperties int        `json:"maxProperties,omitzero"`
	Names         *schema    `json:"propertyNames,omitzero"`
	Additional    any        `json:"additionalProperties,omitzero"` // false or *schema
	AnyOf         []*schema  `json:"anyOf,omitzero"`

	name  string // of a definition that others refer to; "": it stands where it is used
	about string // what it is for
	words string // what was wanted, as errors say it
	says         // as a field
}

// says describes a field: what it is for, its default as it would be written,
// and what holds if it is left out and has none.
type says struct{ doc, def, without string }

// property is a field of an object.
type property struct {
	name   string
	schema *schema
}

// properties are fields in the order in which people should see them.
type properties []property

func (p properties) names() []string {
	names := make([]string, len(p))
	for i := range p {
		names[i] = p[i].name
	}
	return names
}

// MarshalJSON keeps the order.
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

// plain is a schema that writes itself out.
type plain schema

// MarshalJSON writes a reference in place of a definition.
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

// below are the schemas that this one is made of.
func (s *schema) below() []*schema {
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

// definitions are the schemas with names in and below this one, in the order in
// which they are met.
func (s *schema) definitions(known properties) properties {
	if s.name != "" {
		if slices.Contains(known.names(), s.name) {
			return known
		}
		whole := *s
		whole.name, whole.says = "", says{doc: s.about}
		known = append(known, property{s.name, &whole})
	}
	for _, b := range s.below() {
		known = b.definitions(known)
	}
	return known
}

// Schema returns the JSON Schema of the file, for editors.
func Schema() []byte {
	root := file(nil).schema
	return document(&root, schemaURL, "The configuration of ridethrough")
}

// document writes a schema as a file of its own.
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
		panic(err) // it is made of strings and numbers
	}
	return append(text, '\n')
}
