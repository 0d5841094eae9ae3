package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ridethrough/ridethrough/llm"
)

// Func makes a tool of a function. In is a struct: its fields are the arguments as encoding/json names
// them, required unless their tag says omitempty or omitzero. A tag such as `jsonschema:"where to look"`
// describes a field to the model. Arguments of another form, or with unknown members, never reach f: the
// model gets the reason as a failed result.
//
// The tool is taken to read only; set Writes otherwise. Func panics if JSON Schema cannot describe In.
func Func[In any](name, description string, f func(context.Context, In) (string, error)) Tool {
	schema, err := jsonschema.For[In](nil)
	if err == nil && schema.Type != "object" {
		err = fmt.Errorf("%T is not a struct", *new(In))
	}
	if err != nil {
		panic("tool " + name + ": " + err.Error())
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic("tool " + name + ": " + err.Error())
	}
	return Tool{
		Tool: llm.Tool{Name: name, Description: description, Schema: schemaJSON(schema)},
		Func: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			in, err := decodeArguments[In](resolved, arguments)
			if err != nil {
				return "", fmt.Errorf("invalid arguments: %w", err)
			}
			return f(ctx, in)
		},
	}
}

// schemaJSON returns a schema as JSON, nil if it has no members: some providers reject an object without
// properties.
func schemaJSON(schema *jsonschema.Schema) json.RawMessage {
	if len(schema.Properties) == 0 {
		return nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err) // it was made from a type
	}
	return text
}

// decodeArguments validates the arguments and decodes them.
func decodeArguments[In any](schema *jsonschema.Resolved, arguments json.RawMessage) (In, error) {
	var in In
	var given any
	if err := json.Unmarshal(arguments, &given); err != nil {
		return in, err
	}
	if err := schema.Validate(given); err != nil {
		return in, errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	err := json.Unmarshal(arguments, &in)
	return in, err
}
