package simulator

import (
	"encoding/json"
	"strings"
)

// readCohere reads a request.
func readCohere(r ask, c *call) *problem {
	var body struct {
		Messages []struct{ Role string }
	}
	switch err := json.Unmarshal(r.body, &body); {
	case err != nil:
		return bad("invalid request: %v", err)
	case c.model == "":
		return bad("invalid request: model is required")
	case len(body.Messages) == 0:
		return bad("invalid request: list of messages must not be empty")
	}
	for _, m := range body.Messages {
		c.repeat = c.repeat || m.Role == "assistant"
	}
	return nil
}

// readOllama reads a request. Streaming is the default.
func readOllama(r ask, c *call) *problem {
	var body struct {
		Think    json.RawMessage
		Messages []struct {
			Role, Content string
			ToolCalls     []struct {
				Function struct{ Arguments map[string]any }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("%v", err)
	}
	if c.model == "" {
		return bad("model is required")
	}
	for _, turn := range body.Messages {
		c.turn(turn.Role == "assistant", turn.Content)
	}
	if string(body.Think) == "false" {
		c.view = never
	}
	return nil
}

// readLMStudio reads a request.
func readLMStudio(r ask, c *call) *problem {
	var body struct{}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("%v", err)
	}
	if c.model == "" {
		return bad(`"model" is required`)
	}
	return nil
}

// readBedrock reads a request.
func readBedrock(r ask, c *call) *problem {
	switch {
	case strings.HasSuffix(r.path, "/count-tokens"):
		return nil
	case r.api == "bedrock-invoke":
		return readInvoke(r, c)
	}
	return readConverse(r, c)
}

// readConverse reads the body of a conversation.
func readConverse(r ask, c *call) *problem {
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		More map[string]any `json:"additionalModelRequestFields"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("The request body is not valid JSON: %v", err)
	}
	c.view = never
	if body.More["thinking"] != nil || body.More["reasoning_config"] != nil {
		c.view = shown
	}
	for _, m := range body.Messages {
		c.turn(m.Role == "assistant", plainText(m.Content))
	}
	if len(body.Messages) == 0 || body.Messages[0].Role != "user" {
		return bad("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	return nil
}
