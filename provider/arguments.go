package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// generatedPrefix begins the ids of calls to which their provider gave none.
const generatedPrefix = "made_"

// IsGeneratedID reports whether an id was generated here, so that its provider does not know it.
func IsGeneratedID(id string) bool { return strings.HasPrefix(id, generatedPrefix) }

// FitID returns a tool call's id as an API accepts it: an id that does not fit, since another provider made
// it, becomes one of 37 letters, digits and underscores, the same for the call and its result.
func FitID(id string, fits func(string) bool) string {
	if fits(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}
