package simulator

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// The errors of Google's API for invalid conversations, in its own words.

// geminiAsk has the members of a request that are read.
type geminiAsk struct {
	Contents         []geminiTurn
	GenerationConfig struct {
		ThinkingConfig struct{ IncludeThoughts bool }
	}
}

// geminiTurn is one content.
type geminiTurn struct {
	Role  string
	Parts []struct {
		Text             *string
		ThoughtSignature string
		FunctionCall     *struct{ Name string }
		FunctionResponse *struct{ Name string }
		InlineData       json.RawMessage
		FileData         json.RawMessage
	}
}

func readGemini(r ask, c *call) *problem {
	var body geminiAsk
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("Invalid JSON payload received. %v", err)
	}
	c.view = sealed
	if body.GenerationConfig.ThinkingConfig.IncludeThoughts {
		c.view = shown
	}
	for _, turn := range body.Contents {
		text := ""
		for _, p := range turn.Parts {
			if p.Text != nil {
				text += *p.Text
			}
		}
		c.turn(turn.Role == "model", text)
	}
	p := cmp.Or(body.texts(), body.results())
	if p == nil && isGemini3(c.model) {
		p = body.thoughts()
	}
	return p
}

// isGemini3 reports whether a model has call ids and requires signatures.
func isGemini3(model string) bool { return strings.HasPrefix(model, "gemini-3") }

// texts checks that contents and parts are not empty.
func (a *geminiAsk) texts() *problem {
	for i, turn := range a.Contents {
		if len(turn.Parts) == 0 {
			return bad("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		for j, p := range turn.Parts {
			nothing := p.Text == nil && p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil && p.FileData == nil
			if nothing && p.ThoughtSignature == "" {
				return bad("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field\n", i, j)
			}
		}
	}
	return nil
}

// count returns the numbers of calls and responses of a content.
func (t geminiTurn) count() (calls, responses int) {
	for _, p := range t.Parts {
		if p.FunctionCall != nil {
			calls++
		}
		if p.FunctionResponse != nil {
			responses++
		}
	}
	return calls, responses
}

// results checks that tool calls and results match.
func (a *geminiAsk) results() *problem {
	open := 0
	for i, turn := range a.Contents {
		calls, responses := turn.count()
		switch {
		case responses > 0 && open == 0:
			return bad("Please ensure that function response turn comes immediately after a function call turn.")
		case responses != open:
			return bad("Please ensure that the number of function response parts is equal to the number of function call parts of the " +
				"function call turn.")
		case calls > 0 && (i == 0 || a.Contents[i-1].Role == "model"):
			return bad("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		open = calls
	}
	return nil
}

// thoughts checks that the calls of the current turn have their signatures.
func (a *geminiAsk) thoughts() *problem {
	for _, turn := range slices.Backward(a.Contents) {
		if calls, responses := turn.count(); calls == 0 && responses == 0 {
			return nil
		}
		for i, p := range turn.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if p.ThoughtSignature == "" {
				return bad("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and "+
					"missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , "+
					"position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", p.FunctionCall.Name, i+1)
			}
			break
		}
	}
	return nil
}

// readInteractions reads a request for an interaction.
func readInteractions(r ask, c *call) *problem {
	var body struct {
		Agent  string
		Input  json.RawMessage
		Config struct {
			Summaries string `json:"thinking_summaries"`
		} `json:"generation_config"`
	}
	switch err := json.Unmarshal(r.body, &body); {
	case err != nil:
		return bad("The request body is not valid JSON: %v", err)
	case c.model == "" && body.Agent == "":
		return bad("Either 'model' or 'agent' is required.")
	}
	if c.view = sealed; body.Config.Summaries == "auto" {
		c.view = shown
	}
	var steps []struct {
		Type, Role string
		Content    json.RawMessage
	}
	_ = json.Unmarshal(body.Input, &steps) // else it is one text
	for _, s := range steps {
		c.turn(s.Type == "model_output" || s.Role == "model", plainText(s.Content))
	}
	return nil
}
