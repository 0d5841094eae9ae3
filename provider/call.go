package provider

import (
	"crypto/rand"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
)

// Call is one request to a provider. It belongs to the goroutine that ranges over the answer.
type Call struct {
	by       llm.Name
	faults   classify.Classifier
	yield    func(llm.Part, error) bool
	observed observation

	hasContent bool // some of the answer has been yielded
	hasCalls   bool // including a tool call
	left       bool // the caller has left the loop
	ended      bool // the proper end has come
	end        llm.End

	initialUsage, finalUsage *llm.Usage // yielded with the first content, and at the end; nil: none
}

// Yield passes on text, reasoning or a tool call as it comes; false: the caller has left, and ask returns
// any value. Empty parts are dropped. A call without an id gets one, and its arguments may be as the model
// wrote them ([Arguments]).
func (c *Call) Yield(p llm.Part) bool {
	if call, ok := p.(llm.ToolCall); ok {
		c.hasCalls = true
		if call.ID == "" {
			call.ID = generatedPrefix + rand.Text()
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

// forward yields a part and notes whether the caller has left.
func (c *Call) forward(p llm.Part) bool {
	c.left = !c.yield(p, nil)
	return !c.left
}

// InitialUsage sets the usage known before the answer begins. That is not content: it is passed on with the
// first content.
func (c *Call) InitialUsage(u llm.Usage) {
	if !c.hasContent {
		c.initialUsage = &u
	}
}

// Usage sets the usage so far. The latest is passed on before the end.
func (c *Call) Usage(u llm.Usage) { c.finalUsage = &u }

// End notes that the answer's proper end has come, its reason and the model that answered; "": not stated.
// Further data may follow: the end is passed on when ask has returned nil. After tool calls the reason is
// llm.Calls.
func (c *Call) End(reason llm.Reason, model string) {
	c.ended, c.end = true, llm.End{Reason: reason, Model: model}
}

// finish yields the end of the answer.
func (c *Call) finish() {
	if c.hasCalls {
		c.end.Reason = llm.Calls
	}
	if c.finalUsage != nil && !c.forward(*c.finalUsage) {
		return
	}
	c.forward(c.end)
}
