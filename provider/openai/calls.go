package openai

import (
	"encoding/json"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// callCollector assembles tool calls from the pieces in which they stream.
type callCollector struct {
	all   []partialCall
	taken map[string]bool // ids that the conversation has already
}

// partialCall is a call that may be incomplete.
type partialCall struct {
	index     int
	id, name  string
	arguments []byte
}

// callIDs returns the ids of a conversation's calls. Some servers start counting anew in each answer.
func callIDs(conversation []llm.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range conversation {
		for _, call := range m.Content.Calls() {
			ids[call.ID] = true
		}
	}
	return ids
}

// add adds a piece: to the call with this index, or as the start of another.
func (c *callCollector) add(index int, id, name, arguments string) {
	at := len(c.all) - 1
	for at >= 0 && c.all[at].index != index {
		at--
	}
	if at < 0 || c.all[at].isOther(id, name) {
		c.all = append(c.all, partialCall{index: index, id: id, name: name, arguments: []byte(arguments)})
		return
	}
	call := &c.all[at]
	if call.id == "" {
		call.id = id
	}
	if call.name == "" {
		call.name = name
	}
	call.arguments = append(call.arguments, arguments...)
}

// isOther reports whether a piece with this id and name belongs to another call with the same index:
// servers that send whole calls may omit the index, and the id too.
func (p *partialCall) isOther(id, name string) bool {
	if id != "" && p.id != "" {
		return id != p.id
	}
	return name != "" && p.name != "" && json.Valid(p.arguments)
}

// any reports whether there is a call.
func (c *callCollector) any() bool { return len(c.all) > 0 }

// yield yields the calls.
func (c *callCollector) yield(to *provider.Call) bool {
	for _, p := range c.all {
		if !c.yieldOne(to, p.id, p.name, string(p.arguments)) {
			return false
		}
	}
	return true
}

// yieldOne yields a call. A duplicate id is replaced.
func (c *callCollector) yieldOne(to *provider.Call, id, name, arguments string) bool {
	if c.taken[id] {
		id = ""
	}
	c.taken[id] = true
	return to.Yield(llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)})
}
