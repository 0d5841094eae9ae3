package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// The errors of the Messages API for invalid conversations, in its own words.

// anthropicAsk has the members of a request that are read.
type anthropicAsk struct {
	model     string
	MaxTokens *int `json:"max_tokens"`
	Thinking  struct {
		Type    string
		Budget  int `json:"budget_tokens"`
		Display string
	}
	Tools []struct {
		Name   string
		Type   string
		Schema *struct{ Type string } `json:"input_schema"`
	}
	Messages []anthropicTurn
}

// anthropicTurn is one message.
type anthropicTurn struct {
	Role    string
	Content anthropicContent
}

// anthropicContent is a text or blocks.
type anthropicContent []struct {
	Type, Text, ID, Name, Signature string
	Input                           json.RawMessage
	ToolUseID                       string `json:"tool_use_id"`
}

// text returns the text of all blocks.
func (a anthropicContent) text() (all string) {
	for _, b := range a {
		all += b.Text
	}
	return all
}

// UnmarshalJSON reads both forms.
func (a *anthropicContent) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*a = make(anthropicContent, 1)
		(*a)[0].Type = "text"
		return json.Unmarshal(text, &(*a)[0].Text)
	}
	type blocks anthropicContent
	return json.Unmarshal(text, (*blocks)(a))
}

func readAnthropic(r ask, c *call) *problem {
	var body anthropicAsk
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("The request body is not valid JSON: %v", err)
	}
	if c.model == "" {
		return bad("model: Field required")
	}
	return body.fill(c, r.body)
}

// fill sets the call of a request that can be read.
func (a *anthropicAsk) fill(c *call, text []byte) *problem {
	if a.model == "" {
		a.model = c.model
	}
	c.view, c.caching = a.view(), unasked
	if bytes.Contains(text, []byte(`"cache_control"`)) {
		c.caching = asked
	}
	for _, turn := range a.Messages {
		c.turn(turn.Role == "assistant", turn.Content.text())
	}
	return cmp.Or(a.prefill(), a.limits(), a.tools(), a.texts(), a.results(), a.thoughts())
}

// view returns how much of the reasoning is shown. Models from 4.7 on omit its text by default.
func (a *anthropicAsk) view() view {
	switch on := a.Thinking.Type == "enabled" || a.Thinking.Type == "adaptive"; {
	case !on:
		return never
	case a.Thinking.Display == "omitted", a.Thinking.Display == "" && generation(a.model) == adaptiveOnly:
		return omitted
	}
	return shown
}

// The generations of models, by the types of thinking that they accept.
const (
	anyTerms     = iota // 4.6 and unknown models
	budgetOnly          // before 4.6
	adaptiveOnly        // after 4.6
)

// generation returns the generation of a model by its name.
func generation(model string) int {
	has := func(mark string) bool { return strings.Contains(model, mark) }
	switch {
	case !strings.HasPrefix(model, "claude-"):
		return anyTerms
	case slices.ContainsFunc([]string{"claude-3", "-4-0", "-4-1", "-4-20", "-4-5"}, has):
		return budgetOnly
	case slices.ContainsFunc([]string{"-4-7", "-4-8", "-5"}, has):
		return adaptiveOnly
	}
	return anyTerms
}

// prefill checks that a newer model is not asked to continue a turn of its own.
func (a *anthropicAsk) prefill() *problem {
	newer := generation(a.model) == adaptiveOnly || strings.HasPrefix(a.model, "claude-") && strings.Contains(a.model, "-4-6")
	if n := len(a.Messages); newer && n > 0 && a.Messages[n-1].Role == "assistant" {
		return &problem{} // noPrefill
	}
	return nil
}

// limits checks max_tokens and the type and budget of thinking.
func (a *anthropicAsk) limits() *problem {
	switch {
	case a.MaxTokens != nil && *a.MaxTokens < 1:
		return bad("max_tokens: must be greater than or equal to 1")
	case a.Thinking.Type == "adaptive" && generation(a.model) == budgetOnly:
		return bad("adaptive thinking is not supported on this model")
	case a.Thinking.Type == "enabled" && generation(a.model) == adaptiveOnly:
		return bad(`"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" ` +
			"to control thinking behavior.")
	}
	switch on := a.Thinking.Type == "enabled"; {
	case on && a.Thinking.Budget < 1024:
		return bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case on && a.MaxTokens != nil && a.Thinking.Budget >= *a.MaxTokens:
		return bad("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at " +
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
	}
	return nil
}

// tools checks the names and schemas of tools.
func (a *anthropicAsk) tools() *problem {
	seen := map[string]bool{}
	for i, t := range a.Tools {
		switch {
		case t.Type != "" && t.Type != "custom":
			continue
		case !isWord(t.Name, 128):
			return bad("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[t.Name]:
			return bad("tools: Tool names must be unique.")
		case t.Schema == nil:
			return bad("tools.%d.custom.input_schema: Field required", i)
		case t.Schema.Type != "object":
			return bad("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		seen[t.Name] = true
	}
	return nil
}

// texts checks the content of messages.
func (a *anthropicAsk) texts() *problem {
	for i, turn := range a.Messages {
		if last := i == len(a.Messages)-1; len(turn.Content) == 0 && !(last && turn.Role == "assistant") {
			return bad("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for j, b := range turn.Content {
			switch {
			case b.Type == "text" && b.Text == "":
				return bad("messages: text content blocks must be non-empty")
			case b.Type == "thinking" && b.Signature == "":
				return bad("messages.%d.content.%d.thinking.signature: Field required", i, j)
			case b.Type == "tool_use" && !isWord(b.ID, len(b.ID)):
				return bad("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)
			case b.Type == "tool_use" && !bytes.HasPrefix(b.Input, []byte("{")):
				return bad("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
			}
		}
	}
	return nil
}

// results checks that tool calls and results match.
func (a *anthropicAsk) results() *problem {
	var open []string
	for i, turn := range a.Messages {
		given, behind := []string{}, false
		for j, b := range turn.Content {
			if b.Type != "tool_result" {
				behind = true
				continue
			}
			if !slices.Contains(open, b.ToolUseID) {
				return bad("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` "+
					"block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
			}
			if slices.Contains(given, b.ToolUseID) {
				return bad("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, b.ToolUseID)
			}
			if !behind {
				given = append(given, b.ToolUseID)
			}
		}
		if p := unanswered(i-1, open, given); p != nil {
			return p
		}
		open = turn.calls()
	}
	return unanswered(len(a.Messages)-1, open, nil)
}

// unanswered checks that the calls of a message have results.
func unanswered(message int, calls, results []string) *problem {
	missing := slices.DeleteFunc(slices.Clone(calls), func(id string) bool { return slices.Contains(results, id) })
	if len(missing) == 0 {
		return nil
	}
	return bad("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block "+
		"must have a corresponding `tool_result` block in the next message.", message, strings.Join(missing, ", "))
}

// calls returns the ids of a message's calls.
func (t anthropicTurn) calls() []string {
	var ids []string
	for _, b := range t.Content {
		if b.Type == "tool_use" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// thoughts checks that tool calls of a thinking model follow their thinking block.
func (a *anthropicAsk) thoughts() *problem {
	n := len(a.Messages)
	if a.Thinking.Type != "enabled" || n < 2 || len(a.Messages[n-2].calls()) == 0 {
		return nil
	}
	if first := a.Messages[n-2].Content[0].Type; first != "thinking" && first != "redacted_thinking" {
		return bad("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, "+
			"a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "+
			"blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "+
			"Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking", n-2, first)
	}
	return nil
}

// readInvoke reads a body in which neither the model nor the form is named.
func readInvoke(r ask, c *call) *problem {
	var body struct {
		anthropicAsk
		Version string `json:"anthropic_version"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("Malformed input request: %v, please reformat your input and try again.", err)
	}
	if body.Version == "" {
		return bad("anthropic_version: Field required")
	}
	_, body.model, _ = strings.Cut(c.model, "anthropic.")
	return body.fill(c, r.body)
}

// readVertex reads a request whose model is in the path.
func readVertex(r ask, c *call) *problem {
	var body struct {
		Version string `json:"anthropic_version"`
	}
	if json.Unmarshal(r.body, &body); body.Version == "" && !strings.Contains(r.path, "/count-tokens:") {
		return bad("anthropic_version: Field required")
	}
	return readAnthropic(r, c)
}
