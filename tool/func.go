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

// Func makes a tool of a function. In is a struct: its fields are the arguments
// as encoding/json names them, required unless their tag says omitempty or
// omitzero, and a tag such as `jsonschema:"where to look"` tells the model what
// a field is. Arguments of another form, or with members that In does not have,
// never reach f: the model learns what was wrong with them.
//
// The tool counts as one that only reads; set Writes otherwise. An In that JSON
// Schema cannot describe is a mistake in the program, and Func panics.
func Func[In any](name, description string, f func(context.Context, In) (string, error)) Tool {
	schema, err := jsonschema.For[In](nil)
	if err == nil && schema.Type != "object" {
		err = fmt.Errorf("%T is no struct", *new(In))
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

// schemaJSON gives a schema as JSON, nil where it has no members: some providers
// refuse an object without properties.
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

// decodeArguments holds the arguments against the schema and gives them as an In.
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
