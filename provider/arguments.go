package provider

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// Arguments returns a tool call's arguments as in [llm.ToolCall]: the JSON object that the model wrote, {}
// where it wrote nothing, and anything else as a JSON string.
func Arguments(written string) json.RawMessage {
	text := strings.TrimSpace(written)
	switch {
	case text == "" || text == "null":
		return json.RawMessage("{}")
	case text[0] == '{' && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(written) // a string can always be encoded
	return quoted
}

// ArgumentsObject returns a call's arguments for an API that takes only objects: any other value becomes
// the member "arguments", so that the model sees what it wrote.
func ArgumentsObject(arguments json.RawMessage) json.RawMessage {
	text := bytes.TrimSpace(arguments)
	switch {
	case len(text) == 0:
		return json.RawMessage("{}")
	case text[0] == '{' && json.Valid(text):
		return text
	case !json.Valid(text):
		text, _ = json.Marshal(string(text))
	}
	return json.RawMessage(`{"arguments":` + string(text) + `}`)
}

// generatedPrefix begins generated ids.
const generatedPrefix = "made_"

// newID generates an id for a call to which its provider gave none.
func newID() string { return generatedPrefix + rand.Text() }

// IsGeneratedID reports whether an id was generated here, so that its provider does not know it.
func IsGeneratedID(id string) bool { return strings.HasPrefix(id, generatedPrefix) }
