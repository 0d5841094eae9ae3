package openai

import (
	"encoding/json"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// calls puts tool calls together from the pieces in which they stream.
type calls struct {
	all   []piecemeal
	taken map[string]bool // ids that the conversation has already
}

// piecemeal is a call that may not be whole.
type piecemeal struct {
	index     int64
	id, name  string
	arguments []byte
}

// taken gives the ids of a conversation's calls. Some servers count anew in
// each answer.
func taken(conversation []llm.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range conversation {
		for _, call := range m.Content.Calls() {
			ids[call.ID] = true
		}
	}
	return ids
}

// add takes a piece: of the call with this index, or the begin of another.
func (c *calls) add(index int64, id, name, arguments string) {
	at := len(c.all) - 1
	for at >= 0 && c.all[at].index != index {
		at--
	}
	if at < 0 || c.all[at].over(id, name) {
		c.all = append(c.all, piecemeal{index: index, id: id, name: name, arguments: []byte(arguments)})
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

// over tells that a piece with these belongs to another call, although the index
// is the same: servers that send calls whole may leave it out, and the id too.
func (p *piecemeal) over(id, name string) bool {
	if id != "" && p.id != "" {
		return id != p.id
	}
	return name != "" && p.name != "" && json.Valid(p.arguments)
}

// any tells whether there is a call.
func (c *calls) any() bool { return len(c.all) > 0 }

// say hands on the calls.
func (c *calls) say(to *provider.Call) bool {
	for _, p := range c.all {
		if !c.one(to, p.id, p.name, string(p.arguments)) {
			return false
		}
	}
	return true
}

// one hands on a call. One whose id is not its own gets another.
func (c *calls) one(to *provider.Call, id, name, arguments string) bool {
	if c.taken[id] {
		id = ""
	}
	c.taken[id] = true
	return to.Yield(llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)})
}
