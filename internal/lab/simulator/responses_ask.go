package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// The errors of Responses for invalid conversations, in its own words.

// responsesAsk has the members of a request that are read.
type responsesAsk struct {
	Store     *bool
	Include   []string
	Reasoning struct{ Summary string }
	Input     responsesInput
}

// responsesInput is a text or items.
type responsesInput []responsesTurn

// responsesTurn is one item.
type responsesTurn struct {
	Type, Role, ID string
	CallID         string `json:"call_id"`
	Encrypted      string `json:"encrypted_content"`
	Content        json.RawMessage
}

// UnmarshalJSON reads both forms.
func (a *responsesInput) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte{'"'}) {
		*a = responsesInput{{Role: "user"}}
		return nil
	}
	type items responsesInput
	return json.Unmarshal(text, (*items)(a))
}

func readResponses(r ask, c *call) *problem {
	var body responsesAsk
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("We could not parse the JSON body of your request: %v", err)
	}
	if c.model == "" {
		return bad("Missing required parameter: 'model'.")
	}
	c.view, c.keeps = sealed, slices.Contains(body.Include, "reasoning.encrypted_content")
	if body.Reasoning.Summary != "" {
		c.view = shown
	}
	for _, item := range body.Input {
		c.turn(item.Role == "assistant", plainText(item.Content))
		c.repeat = c.repeat || item.Type == "function_call"
	}
	return cmp.Or(body.ids(), body.results(), body.thoughts())
}

// ids checks the form of ids.
func (a *responsesAsk) ids() *problem {
	for i, t := range a.Input {
		prefix := map[string]string{"function_call": "fc", "reasoning": "rs", "message": "msg"}[t.Type]
		switch {
		case t.ID != "" && !strings.HasPrefix(t.ID, prefix):
			return bad("Invalid 'input[%d].id': '%s'. Expected an ID that begins with '%s'.", i, t.ID, prefix).about("input[%d].id", i)
		case len(t.CallID) > 64:
			return bad("Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64, but got a string with length "+
				"%d instead.", i, len(t.CallID)).about("input[%d].call_id", i)
		}
	}
	return nil
}

// results checks that tool calls and results match.
func (a *responsesAsk) results() *problem {
	open := []string{}
	for _, t := range a.Input {
		switch {
		case t.Type == "function_call":
			open = append(open, t.CallID)
		case t.Type == "function_call_output" && !slices.Contains(open, t.CallID):
			return bad("No tool call found for function call output with call_id %s.", t.CallID).about("input")
		case t.Type == "function_call_output":
			open = slices.DeleteFunc(open, func(id string) bool { return id == t.CallID })
		}
	}
	if len(open) > 0 {
		return bad("No tool output found for function call %s.", open[0]).about("input")
	}
	return nil
}

// thoughts checks that reasoning is kept by the client or the server, and is followed by its item.
func (a *responsesAsk) thoughts() *problem {
	for i, t := range a.Input {
		if t.Type != "reasoning" {
			continue
		}
		if a.Store != nil && !*a.Store && t.Encrypted == "" {
			p := bad("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to "+
				"true, or remove this item from your input.", t.ID).about("input")
			p.Status = http.StatusNotFound
			return p
		}
		follows := i+1 < len(a.Input)
		if follows {
			next := a.Input[i+1]
			follows = next.Role == "assistant" || next.Type == "function_call" || next.Type == "reasoning"
		}
		if !follows {
			return bad("Item '%s' of type 'reasoning' was provided without its required following item.", t.ID).about("input")
		}
	}
	return nil
}
