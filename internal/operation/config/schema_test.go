package config_test

import (
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// resolve reads a schema as an editor does.
func resolve(t *testing.T, document []byte) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(document, &schema); err != nil {
		t.Fatalf("unmarshal the schema: %v", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("resolve the schema: %v", err)
	}
	return resolved
}

// check validates a YAML text; nil: it fits, or is no YAML.
func check(schema *jsonschema.Resolved, text string) error {
	value := any(map[string]any{})
	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return nil // about YAML
	}
	if read != nil {
		value = read
	}
	return schema.Validate(value)
}
