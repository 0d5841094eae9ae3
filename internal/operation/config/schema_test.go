package config_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// check validates a YAML text and returns the errors.
func check(t *testing.T, text string) []string { return checkAgainst(t, config.Schema(), text) }

// checkAgainst is check with another schema.
func checkAgainst(t *testing.T, schema []byte, text string) []string {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	value := any(map[string]any{})
	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return nil // about YAML
	}
	if read != nil {
		value = read
	}
	v := validator{t, root, nil}
	v.check("", root, value)
	return v.wrong
}

// validator supports the part of JSON Schema that ours uses.
type validator struct {
	t     *testing.T
	root  map[string]any
	wrong []string
}

func (v *validator) fail(at, what string) { v.wrong = append(v.wrong, at+": "+what) }

// check validates a value.
func (v *validator) check(at string, s map[string]any, value any) {
	for keyword, want := range s {
		switch keyword {
		case "$ref":
			name := strings.TrimPrefix(want.(string), "#/$defs/")
			v.check(at, v.root["$defs"].(map[string]any)[name].(map[string]any), value)
		case "anyOf":
			v.anyOf(at, want.([]any), value)
		case "type":
			v.kinds(at, want, value)
		case "enum":
			if !slices.Contains(want.([]any), value) {
				v.fail(at, fmt.Sprintf("%v is none of %v", value, want))
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(want.(string)).MatchString(text) {
				v.fail(at, text+" does not match "+want.(string))
			}
		case "minimum":
			if n, ok := number(value); ok && !(n >= want.(float64)) {
				v.fail(at, fmt.Sprint(value, " is too small"))
			}
		case "maximum":
			if n, ok := number(value); ok && !(n <= want.(float64)) {
				v.fail(at, fmt.Sprint(value, " is too large"))
			}
		case "items", "minItems":
			v.items(at, s, value)
		case "properties", "additionalProperties", "propertyNames", "required", "minProperties", "maxProperties":
			v.fields(at, s, value)
		case "$schema", "$id", "$defs", "title", "description", "default":
		default:
			v.t.Fatalf("the keyword %s is not checked", keyword)
		}
	}
}

func (v *validator) anyOf(at string, all []any, value any) {
	for _, one := range all {
		inner := validator{t: v.t, root: v.root}
		if inner.check(at, one.(map[string]any), value); len(inner.wrong) == 0 {
			return
		}
	}
	v.fail(at, "fits none")
}

func (v *validator) kinds(at string, want, value any) {
	many, ok := want.([]any)
	if !ok {
		many = []any{want}
	}
	if !slices.ContainsFunc(many, func(one any) bool { return is(one.(string), value) }) {
		v.fail(at, fmt.Sprintf("%v is no %v", value, want))
	}
}

// is reports whether a value is of a type.
func is(want string, value any) bool {
	switch value.(type) {
	case nil:
		return want == "null"
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	}
	n, ok := number(value)
	return ok && (want == "number" || want == "integer" && n == math.Trunc(n))
}

func (v *validator) items(at string, s map[string]any, value any) {
	all, ok := value.([]any)
	if least, _ := s["minItems"].(float64); ok && float64(len(all)) < least {
		v.fail(at, "too few")
	}
	for i, one := range all {
		v.check(fmt.Sprint(at, ".", i), s["items"].(map[string]any), one)
	}
}

func (v *validator) fields(at string, s map[string]any, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		return
	}
	known, _ := s["properties"].(map[string]any)
	for name, one := range fields {
		if names, ok := s["propertyNames"].(map[string]any); ok {
			v.check(at+"."+name, names, name)
		}
		switch more := s["additionalProperties"].(type) {
		case map[string]any:
			v.check(at+"."+name, more, one)
		default:
			if known[name] == nil {
				v.fail(at, "no field "+name)
				continue
			}
			v.check(at+"."+name, known[name].(map[string]any), one)
		}
	}
	for _, name := range orNone(s["required"]) {
		if _, ok := fields[name.(string)]; !ok {
			v.fail(at, fmt.Sprint("needs ", name))
		}
	}
	if least, ok := s["minProperties"].(float64); ok && float64(len(fields)) < least {
		v.fail(at, "too few fields")
	}
	if most, ok := s["maxProperties"].(float64); ok && float64(len(fields)) > most {
		v.fail(at, "too many fields")
	}
}

func orNone(v any) []any {
	all, _ := v.([]any)
	return all
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case uint64:
		return float64(n), true
	case int64:
		return float64(n), true
	}
	return 0, false
}
