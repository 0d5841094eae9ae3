package notify

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Template is a text in which ${title} stands for a field of a notice, and ${json title} for the field as JSON. The
// fields are those of a webhook's usual body.
type Template string

// Parse returns a template. The error names what is no field.
func Parse(text string) (Template, error) {
	_, err := Template(text).fill(Notice{})
	return Template(text), err
}

// fill returns the text for a notice.
func (t Template) fill(n Notice) (string, error) {
	var b strings.Builder
	rest := string(t)
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("${%s has no }", name)
		}
		value, err := n.field(name)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		rest = after
	}
}

// field returns what a name in braces stands for.
func (n Notice) field(name string) (string, error) {
	bare, asJSON := strings.CutPrefix(name, "json ")
	fields := reflect.ValueOf(n.form())
	var names []string
	for i := range fields.NumField() {
		tag, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		names = append(names, tag)
	}
	i := slices.Index(names, strings.TrimSpace(bare))
	if i < 0 {
		return "", fmt.Errorf("a notice has no ${%s}; it has %s", name, strings.Join(names, ", "))
	}
	value := fields.Field(i).Interface()
	if asJSON {
		text, err := json.Marshal(value)
		return string(text), err
	}
	return words(value), nil
}

// words returns a value as it is read: names with commas, and nothing for a time that is not known.
func words(value any) string {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ", ")
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.Format(time.RFC3339)
	}
	return fmt.Sprint(value)
}
