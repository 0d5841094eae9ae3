package provider

import (
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
)

// Call is one question to a provider. It belongs to the goroutine that ranges
// over the answer.
type Call struct {
	by       llm.Name
	faults   classify.Classifier
	yield    func(llm.Part, error) bool
	observed observation

	hasContent bool // something of the answer has been handed on
	hasCalls   bool // a tool call among it
	left       bool // whoever ranges has broken off
	ended      bool // the proper end has been seen
	end        llm.End

	initialUsage, finalUsage *llm.Usage // before the first content, at the end; nil: not told
}

// Yield hands on text, reasoning or a tool call as it comes; false: nobody
// wants more, and ask returns whatever it likes. What is empty is left out. A
// call without an id gets one, and its arguments may be as the model has
// written them ([Arguments]).
func (c *Call) Yield(p llm.Part) bool {
	if call, ok := p.(llm.ToolCall); ok {
		c.hasCalls = true
		if call.ID == "" {
			call.ID = newID()
		}
		call.Arguments = Arguments(string(call.Arguments))
		p = call
	}
	if c.left || !llm.IsContent(p) {
		return !c.left
	}
	c.hasContent = true
	if !c.forward(p) || c.initialUsage == nil {
		return !c.left
	}
	u := *c.initialUsage
	c.initialUsage = nil
	return c.forward(u)
}

// forward hands on a part and remembers who left.
func (c *Call) forward(p llm.Part) bool {
	c.left = !c.yield(p, nil)
	return !c.left
}

// InitialUsage says what the answer has cost before it has begun. That is no content:
// it is handed on with the first.
func (c *Call) InitialUsage(u llm.Usage) {
	if !c.hasContent {
		c.initialUsage = &u
	}
}

// Usage says what the answer has cost so far. The last word is handed on before
// the end.
func (c *Call) Usage(u llm.Usage) { c.finalUsage = &u }

// End says that the answer's proper end has come, why it came and which model
// has spoken; "": the provider does not say. What follows may still be heard:
// the end is handed on when ask has returned nil. After tool calls the reason is
// theirs.
func (c *Call) End(reason llm.Reason, model string) {
	c.ended, c.end = true, llm.End{Reason: reason, Model: model}
}

// finish hands on how the answer has ended.
func (c *Call) finish() {
	if c.hasCalls {
		c.end.Reason = llm.Calls
	}
	if c.finalUsage != nil && !c.forward(*c.finalUsage) {
		return
	}
	c.forward(c.end)
}
