package simulator

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// The errors of Chat Completions for invalid conversations, in its own words.

// openaiAsk has the members of a request that are read.
type openaiAsk struct {
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []openaiTurn
	Tools    []struct{ Function struct{ Name string } }
}

// openaiTurn is one message.
type openaiTurn struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	} `json:"tool_calls"`
}

func readOpenAI(r ask, c *call) *problem {
	if strings.Contains(r.path, "/responses") {
		return readResponses(r, c)
	}
	var body openaiAsk
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("We could not parse the JSON body of your request: %v", err)
	}
	if c.model == "" {
		return bad("you must provide a model parameter")
	}
	c.usage = body.StreamOptions.IncludeUsage
	for _, turn := range body.Messages {
		c.turn(turn.Role == "assistant", plainText(turn.Content))
	}
	return cmp.Or(body.tools(), body.texts(), body.results())
}

// tools checks the names of tools.
func (a *openaiAsk) tools() *problem {
	for i, t := range a.Tools {
		if name := t.Function.Name; !isWord(name, 64) {
			return bad("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern "+
				"'^[a-zA-Z0-9_-]+$'.", i).about("tools[%d].function.name", i)
		}
	}
	return nil
}

// texts checks the content and tool calls of messages.
func (a *openaiAsk) texts() *problem {
	for i, turn := range a.Messages {
		if nothing := len(turn.Content) == 0 || string(turn.Content) == "null"; nothing && len(turn.ToolCalls) == 0 {
			return bad("Invalid value for 'content': expected a string, got null.").about("messages.[%d].content", i)
		}
		for j, c := range turn.ToolCalls {
			where := func(p *problem, member string) *problem {
				return p.about("messages[%d].tool_calls[%d].%s", i, j, member)
			}
			switch {
			case c.ID == "":
				return where(bad("Invalid 'messages[%d].tool_calls[%d].id': empty string. Expected a string with minimum length 1, "+
					"but got an empty string instead.", i, j), "id")
			case len(c.ID) > 40:
				return where(bad("Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length 40, "+
					"but got a string with length %d instead.", i, j, len(c.ID)), "id")
			case len(c.Function.Arguments) == 0 || c.Function.Arguments[0] != '"':
				return where(bad("Invalid type for 'messages[%d].tool_calls[%d].function.arguments': expected a string.", i, j), "function.arguments")
			}
		}
	}
	return nil
}

// results checks that tool calls and results match.
func (a *openaiAsk) results() *problem {
	var calls, open []string
	for i, turn := range a.Messages {
		if turn.Role != "tool" {
			if p := openaiUnanswered(open); p != nil {
				return p
			}
			calls = nil
			for _, c := range turn.ToolCalls {
				calls = append(calls, c.ID)
			}
			open = slices.Clone(calls)
			continue
		}
		switch {
		case calls == nil:
			return bad("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.").
				about("messages.[%d].role", i)
		case !slices.Contains(calls, turn.ToolCallID):
			return bad("Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", turn.ToolCallID).
				about("messages.[%d].tool_call_id", i)
		}
		open = slices.DeleteFunc(open, func(id string) bool { return id == turn.ToolCallID })
	}
	return openaiUnanswered(open)
}

// openaiUnanswered checks that no calls without results are left.
func openaiUnanswered(open []string) *problem {
	if len(open) == 0 {
		return nil
	}
	return bad("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
		"The following tool_call_ids did not have response messages: %s", strings.Join(open, ", ")).about("messages")
}
