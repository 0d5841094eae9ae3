package provider

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// Arguments gives a tool call's arguments as [llm.ToolCall] has them: the JSON
// object that the model has written, {} where it has written nothing, and
// anything else as a JSON string.
func Arguments(written string) json.RawMessage {
	text := strings.TrimSpace(written)
	switch {
	case text == "" || text == "null":
		return json.RawMessage("{}")
	case text[0] == '{' && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(written) // a string always can
	return quoted
}

// ArgumentsObject gives a call's arguments for an API that takes nothing but objects:
// what is none becomes the value of "arguments", so that the model sees what it
// has written.
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

// generatedPrefix begins the ids that we make.
const generatedPrefix = "made_"

// newID makes an id for a call to which its provider has given none.
func newID() string { return generatedPrefix + rand.Text() }

// IsGeneratedID tells whether an id is one that was made for a call, of which its
// provider knows nothing.
func IsGeneratedID(id string) bool { return strings.HasPrefix(id, generatedPrefix) }
